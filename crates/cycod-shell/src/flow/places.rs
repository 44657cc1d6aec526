//! What a program does with what stands at one place among its words, or in its input, and which guard holds a value to that.

use std::collections::HashSet;
use std::sync::Arc;

use super::commands::{ECHOING, is_make};
use super::evaluated::{UNKNOWN_CODE, behind_name};
use super::graph::Graph;
use super::run_files::written_by_code;
use super::value::{Atom, Cut, Field, Tag, Text, beginning, holes_among, holes_of, literal, made_of, output_of};
use super::{Called, Flow, Input, Reason, Variable, files, small, structure, value, watch};
use crate::programs::{self, Input as Reads, Place, PlaceKind, Seen, State, Unlisted};
use crate::verdict::{Guard, Rule};

/// What a value is in a text with a structure that is not known.
const WITHIN: &str = "a part of a text that another program parses";

/// Why a value is no data where something may have made other characters of it.
pub(super) const RESPELT: &str =
    "the command changes it before, so that it may hold characters that have a meaning there";

impl Flow<'_> {
    /// What a program does with its standard input.
    pub(super) fn input_of(&mut self, state: &State) {
        let holes = self.input.holes();
        let program = state.label();
        match state.entry().input {
            Reads::Code { language, unless_operand, with_operand, unless, always } => {
                // A command that was joined from its words has read the input.
                let is_unread = if state.has_operand() { unless_operand } else { with_operand };
                let is_code =
                    state.seen() & always != 0 || !(state.is_done() || is_unread) && state.seen() & unless == 0;
                if is_code && !is_shell(language) && !OWN_VARIABLES.contains(&language) {
                    self.input_for_shell(program);
                }
                if is_code && language == programs::UNKNOWN_LANGUAGE {
                    let holes = [holes, self.input_files.clone()].concat();
                    let why = format!(
                        "the program that `{program}` starts in the container reads it, and nothing says which that is"
                    );
                    return self.find_unclear(holes, &why);
                }
                if is_code {
                    self.find_code(self.input_files.clone(), program, "program");
                }
                if is_code && is_shell(language) && self.input == Input::Clean && self.holds_code {
                    let given = self.running.arguments.iter().chain(&self.in_environment).copied().collect::<Vec<_>>();
                    self.find_unclear(given, UNKNOWN_CODE);
                }
                if !is_code {
                    self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                    let program = Arc::clone(program);
                    if language == "mail" {
                        // mailutils before 3.13 took `~!` for a command in any message. Source: CVE-2021-32749.
                        let rule = Rule::Without { characters: "~" };
                        self.guard_texts(self.input.holes(), &rule, &program, "a message");
                    }
                    self.guard_input(&program, by_itself);
                } else if let (true, Input::Texts(texts)) = (is_shell(language), self.input.clone()) {
                    // `bash -s -- "{X}"`: which of its words the script gets as which argument is not told apart.
                    let any =
                        self.running.arguments.iter().map(|hole| vec![Field::Word(vec![Atom::value(*hole)])]).collect();
                    let arguments = if self.running.arguments.is_empty() { Vec::new() } else { vec![Field::Many(any)] };
                    self.reading(Input::Clean, false, |flow| {
                        for text in &texts {
                            flow.evaluate(text, program, Called { zero: None, arguments: arguments.clone() });
                        }
                    });
                } else {
                    self.reads_code(language, program);
                    self.find_code(holes, program, language);
                }
            }
            Reads::Unknown if state.is_of_unknown_program() => {
                self.input_for_shell(program);
                // A file that the shell opens is no word of it.
                let is_opened = matches!(self.input, Input::Printed(_));
                let opened = if is_opened { self.input_files.clone() } else { Vec::new() };
                for hole in holes {
                    if self.is_text(hole) && !opened.contains(&hole) {
                        self.find(hole, self.unknown_program(program));
                    }
                }
            }
            // An option that is not known may say that it runs what it reads.
            _ if let Some(why) = state.lost() => self.find_lost(holes, state, why),
            Reads::Unknown => {
                let why = format!("cycod does not know what `{program}` does with what it reads");
                self.find_unclear(holes, &why);
            }
            Reads::Text | Reads::Arguments => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                self.guard_input(&program, by_itself);
            }
            Reads::TextWithout(characters) => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                self.guard_input(&program, |_, _, _| Some(Rule::Without { characters }));
            }
            Reads::Message => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                let rule = |before: &structure::Before, _: bool, _: bool| {
                    structure::is_in_head(&before.text).then_some(Rule::Without { characters: "\n\r" })
                };
                self.guard_input(&program, rule);
            }
            Reads::Dialog => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                self.guard_input(&program, |before, is_whole, is_json_string| {
                    let ends_line = (!is_whole).then_some(Rule::Without { characters: "\n\r" });
                    before.rule(is_json_string).or(ends_line)
                });
            }
            Reads::Yaml => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                match self.input.clone() {
                    Input::Texts(texts) => texts.iter().for_each(|text| {
                        self.guard_code(text);
                        self.guard_anywhere(text);
                    }),
                    input => self.guard_substituted(&input.holes()),
                }
                self.guard_input(&program, |before, _, is_json_string| before.rule_of_yaml(is_json_string));
            }
        }
    }

    /// A program may hand its input, or a part of it, to a shell that it starts.
    pub(super) fn input_for_shell(&mut self, program: &Arc<str>) {
        let Input::Texts(texts) = self.input.clone() else { return };
        texts.iter().for_each(|text| self.code_for_shell(text, program));
    }

    /// What a program reads may be for a shell that it starts, if it [names a variable](Self::names_exported) as a shell does.
    pub(super) fn code_for_shell(&mut self, text: &Text, program: &Arc<str>) {
        if !self.names_exported(text) {
            return;
        }
        let text = match literal(text) {
            Some(recipes) if is_make(program) => vec![Atom::text(&for_shell(recipes))],
            _ => text.clone(),
        };
        self.reading(Input::Clean, false, |flow| flow.evaluate(&text, program, Called::default()));
    }

    /// What the values in the input of a program must not hold, by what stands before each.
    fn guard_input(&mut self, program: &Arc<str>, rule: impl Fn(&structure::Before, bool, bool) -> Option<Rule>) {
        match self.input.clone() {
            Input::Texts(texts) => texts.iter().for_each(|text| self.guard_document(text, program, &rule)),
            // Where in it they are is not known.
            Input::Printed(_) | Input::Clean => {}
        }
    }

    /// A value in a document of YAML may be in the code of a shell, which what reads the document starts.
    fn guard_code(&mut self, text: &Text) {
        let mut before = String::new();
        for atom in text {
            if let Atom::Text(text) = atom {
                before.push_str(text);
                continue;
            }
            let holes = holes_of(std::slice::from_ref(atom));
            if !holes.is_empty() && structure::is_in_shell_code(&before) {
                self.find_code(holes, &"sh".into(), "sh");
            }
            before.push(structure::MARK);
        }
    }

    /// What a program makes of a text that has structure may have a value anywhere.
    fn guard_anywhere(&mut self, text: &Text) {
        if let [Atom::Derived(holes)] | [Atom::Derived(holes), Atom::Text(_)] = text.as_slice() {
            self.guard_texts(holes.to_vec(), &Rule::Plain, "the program that reads it", WITHIN);
        }
    }

    /// The same for values of the environment that were put into a text which only the program knows: `envsubst < a.yaml`.
    fn guard_substituted(&mut self, holes: &[usize]) {
        let substituted: Vec<usize> = holes.iter().filter(|hole| self.substituted.contains(hole)).copied().collect();
        self.guard_texts(substituted, &Rule::Plain, "the program that reads it", WITHIN);
    }

    /// What the values in a text must not hold, by what stands before each.
    fn guard_document(
        &mut self,
        text: &Text,
        program: &Arc<str>,
        rule: &impl Fn(&structure::Before, bool, bool) -> Option<Rule>,
    ) {
        if text.len() == 1 && !text[0].is_of_value() {
            return;
        }
        let mut before = structure::Before::START;
        // Nothing but the end of a line stands around it.
        let is_whole =
            text.len() == 1 || text.len() == 2 && matches!(text.last(), Some(Atom::Text(end)) if &**end == "\n");
        for atom in text {
            match atom {
                Atom::Text(text) => before.read(text),
                Atom::Unknown(_) | Atom::Output(_) => before.pass(),
                Atom::Value { hole, cut } => {
                    if self.is_text(*hole)
                        && let Some(rule) = rule(&before, is_whole, self.is_json_string(*hole))
                    {
                        let guard = Guard { rule, cut: *cut, program: Arc::clone(program) };
                        self.find_guarded(*hole, Reason::Input { program: Arc::clone(program) }, Some(guard));
                    }
                    before.pass();
                }
                Atom::Derived(holes) => {
                    if rule(&before, is_whole, false).is_some() {
                        self.find_respelt(atom, RESPELT);
                    }
                    for &hole in holes.iter().filter(|hole| self.is_text(**hole)).collect::<Vec<_>>() {
                        if let Some(rule @ Rule::Without { .. }) = rule(&before, is_whole, false) {
                            let guard = Guard { rule, cut: Cut::WHOLE, program: Arc::clone(program) };
                            self.find_guarded(hole, Reason::Input { program: Arc::clone(program) }, Some(guard));
                        }
                    }
                    before.pass();
                }
            }
        }
    }

    /// What is printed goes to a file: its values stay the parts of what that is, by its name.
    pub(super) fn guard_file(&mut self, file: &Text, printed: &Input) {
        let kind = files::kind(file);
        let Input::Texts(texts) = printed else {
            if kind != structure::FileKind::Text {
                self.guard_substituted(&printed.holes());
            }
            return;
        };
        if let Some((program, language)) = files::runs_later(file) {
            for text in texts.iter().filter(|text| !holes_of(*text).is_empty()) {
                match language {
                    "sh" => self.evaluate(text, &program.into(), Called::default()),
                    language => self.find_code(holes_of(text), &program.into(), language),
                }
            }
            return;
        }
        if kind != structure::FileKind::Text {
            if self.echo_escapes {
                self.guard_escapes(texts, "echo", "text that `echo` prints to a file");
            }
            let rule = |before: &structure::Before, is_whole: bool, is_json_string: bool| {
                kind.rule(before, is_whole, is_json_string)
            };
            texts.iter().for_each(|text| self.guard_document(text, &kind.name().into(), &rule));
            texts.iter().for_each(|text| self.guard_anywhere(text));
        }
        if kind == structure::FileKind::Yaml {
            texts.iter().for_each(|text| self.guard_code(text));
        }
    }

    /// Whether the text of a hole is the inside of a JSON string.
    fn is_json_string(&self, hole: usize) -> bool {
        self.holes.get(hole).is_some_and(|hole| hole.is_json_string)
    }

    /// Judges what a word, or a part of it, is to its program.
    pub(super) fn part_of(&mut self, state: &State, part: Owned, graph: &Graph<'_>, to: usize) {
        let program = Arc::clone(state.label());
        match part {
            Owned::Place { place, text, is_option_read, option } => {
                let place = place.behind(beginning(&text));
                self.note_place(state, place, &text);
                self.run_descriptor(place, &text, &program);
                self.file_at(state, place, &text, !option.is_empty());
                let is_unknown = state.is_of_unknown_program();
                self.note_pasted(place, &text);
                if matches!(place.kind, PlaceKind::CodeIn(_)) {
                    self.note_code(&text);
                }
                if let PlaceKind::CodeIn(language) = place.kind
                    && is_shell(language)
                {
                    let rest = graph.rest(to);
                    if !state.entry().feeds || option.is_empty() {
                        return self.shell_code_at(state, &text, language, rest);
                    }
                    // Its file has the name that the program gives it. Source: split(1), `--filter`.
                    let name = made_of(&self.running.arguments);
                    self.perhaps(|flow| flow.assign("FILE", vec![name]));
                    // It reads what stands in the files of the program.
                    let read = Input::made("", &self.running.files).and(Input::printed(&self.running.arguments));
                    let input = self.input.clone().and(read);
                    return self.reading(input, true, |flow| flow.shell_code_at(state, &text, language, rest));
                }
                if may_reach_shell(place) && self.names_exported(&text) {
                    // Its `$NAME` is for a shell that the program starts.
                    let of_setting = behind_name(&text).filter(|_| place.kind == PlaceKind::CodeIn("config"));
                    self.shell_code(of_setting.as_ref().unwrap_or(&text), "sh", &program, Vec::new());
                }
                if let Some(outer) = state.outer() {
                    self.replaced_by_names(&text, &program, outer.label());
                }
                if place.kind == PlaceKind::CodeIn("name") {
                    self.subscript_in_name(&text);
                }
                // Code of a shell is followed, and names the scripts that it runs itself.
                let is_code = matches!(place.kind, PlaceKind::CodeIn(language) if is_shell(language));
                if place.runs_its_file() && !is_code && programs::runs_shell_code(&program) {
                    self.runs_as_script(&text, &graph.rest(to), &program);
                }
                if place.kind == PlaceKind::Plain
                    && let Some(name) = variable_of_build(&program, beginning(&text))
                {
                    self.find_by_kind(holes_of(&text), &Reason::Environment { name: name.into() }, "a variable");
                }
                let options = is_option_read.then(|| state.reader(place));
                self.place(place, &text, options.as_ref(), option, &program, is_unknown);
            }
            Owned::Option { text } => {
                self.find_by_kind(holes_of(&text), &Reason::PartOfOption { program }, "part of an option");
            }
            Owned::Subcommand { text } => {
                self.find_by_kind(holes_of(&text), &Reason::Subcommand { program }, "the name of a subcommand");
            }
            Owned::Lost { text, why } => {
                self.find_lost(holes_of(&text), state, &why);
                // A file that stands where nobody knows what it is may be code.
                if literal(&text).is_some_and(|word| !word.starts_with('-') && !word.is_empty()) {
                    self.runs_file(&text);
                }
            }
        }
    }

    /// A shell runs a file: a process substitution, or one that the script writes.
    fn runs_as_script(&mut self, file: &Text, arguments: &[Field], program: &Arc<str>) {
        let given: Vec<usize> = self.in_environment.iter().copied().chain(holes_among(arguments)).collect();
        self.runs_unknown_file(file, given);
        for code in &self.printed_at(file).to_vec() {
            self.evaluate(code, program, Called { zero: None, arguments: arguments.to_vec() });
        }
        if self.authors_any() {
            self.runs_script(file, arguments, Some(program));
        }
    }

    /// Whether a text names a variable, as a shell would, that holds a value and that programs get.
    fn names_exported(&self, text: &[Atom]) -> bool {
        if self.in_environment.is_empty() || !has_dollar(text) {
            return false;
        }
        let is_given = |variable: &Variable| variable.holes().iter().any(|hole| self.in_environment.contains(hole));
        self.variables.iter().filter(|(_, variable)| is_given(variable)).any(|(name, _)| {
            let mentions = |text: &str| text.contains(&format!("${name}")) || text.contains(&format!("${{{name}"));
            text.iter().any(|atom| matches!(atom, Atom::Text(text) if mentions(text)))
        })
    }

    /// A word is code of a shell. `find` puts names of files for `{}` in the words of what it runs.
    fn shell_code_at(&mut self, state: &State, text: &Text, language: &'static str, rest: Vec<Field>) {
        let program = Arc::clone(state.label());
        if state.is_inside() && literal(text).is_some_and(|code| code.contains("{}")) {
            let why = format!("names of files become code of `{program}`, and the value is part of one");
            let holes = self.holes_in_names(true);
            self.find_unclear(holes, &why);
        }
        if !state.is_inside() || self.running.arguments.is_empty() && !self.has_memory() {
            return self.shell_code(text, language, &program, rest);
        }
        let rest = rest.into_iter().map(|field| match field {
            Field::Word(text) => Field::Word(self.with_names(&text)),
            field => field,
        });
        let rest = rest.collect();
        if literal(text).is_some_and(|code| code.contains("{}")) {
            let why = format!("names of files become code of `{program}`, and the value decides which");
            self.find_unclear(self.running.arguments.clone(), &why);
        }
        self.shell_code(text, language, &program, rest);
    }

    /// A word may be the name of a file, which the program reads, writes or runs.
    fn file_at(&mut self, state: &State, place: &'static Place<'static>, text: &Text, is_of_option: bool) {
        self.setting_at(place, text, state.label());
        if place.kind == PlaceKind::Data("host") {
            // The machine that a program goes to is in no file there.
            let own = holes_of(text);
            let repeated = std::mem::take(&mut self.running.repeated);
            self.running.words.retain(|hole| !own.contains(hole) || repeated.contains(hole));
            self.running.repeated = repeated;
        }
        if let PlaceKind::CodeIn(language) = place.kind
            && !is_file_of_code(language)
            && !is_shell(language)
        {
            self.takes_variables(text);
            self.running.runs_what_it_reads |=
                literal(text).is_some_and(|code| small::runs_what_it_reads(language, code));
        }
        if place.kind == PlaceKind::Data("directory")
            || state.entry().unpacks.into != programs::UnpacksInto::Nothing
            || self.has_unpacked()
        {
            self.note_unpacking(state, place.kind, text, is_of_option);
        }
        let is_package = matches!(place.kind, PlaceKind::Data("name" | "url" | "text") | PlaceKind::Unknown);
        // What an option says is a path or an address: `-e r`.
        let is_source = is_of_option && place.kind == PlaceKind::Data("url");
        if state.entry().builds && is_package && (is_source || !is_of_option) {
            self.builds(text, is_source || place.kind == PlaceKind::Unknown);
        }
        let argument = behind_name(text).filter(|_| place.is_file() || literal(text).is_some());
        if place.is_file() {
            self.reads_words(place, text, argument.as_ref());
        }
        let files: Vec<Text> = [Some(text.clone()), argument].into_iter().flatten().collect();
        files.iter().for_each(|file| self.note_path(state, place.kind, file, is_of_option));
        self.file_is_read_or_written(state, place, (text, &files), is_of_option);
        self.file_is_run(state, place, text, &files);
    }

    fn file_is_read_or_written(
        &mut self,
        state: &State,
        place: &'static Place<'static>,
        (text, files): (&Text, &[Text]),
        is_of_option: bool,
    ) {
        let entry = state.entry();
        let is_prefix = place.kind == PlaceKind::Data("prefix");
        if place.is_file() || is_prefix {
            if is_of_option && matches!(entry.input, Reads::Arguments | Reads::Code { .. }) {
                // `xargs -a`: it is read as the input is.
                let holes = self.written.holes_of_file(text);
                let outputs = [self.touched.holes_of_file(text, self.itself()), self.holes_unpacked(text)].concat();
                let input = std::mem::replace(&mut self.input, Input::Clean);
                let named = if entry.input == Reads::Arguments { holes_of(text) } else { Vec::new() };
                self.input = input.and(Input::made("", &holes)).and(Input::printed(&[outputs, named].concat()));
            }
            files.iter().for_each(|file| self.reads_file(file));
            let is_here = literal(text).is_some_and(|text| text.ends_with('.'));
            let below = if is_here { Vec::new() } else { self.written.holes_below(text, |_| true) };
            if !below.is_empty() {
                // A directory is copied with what is in it.
                self.running.files.extend(&below);
            }
            if place.kind == PlaceKind::Data("output") {
                self.running.printed_to.push(text.clone());
            }
            if place.is_written(entry) {
                if entry.unpacks.into == programs::UnpacksInto::Last && !is_of_option {
                    // Where it ends, it is known which of them is the last.
                    self.running.operands.push((files.to_vec(), below));
                } else {
                    self.writes_files(files, is_prefix, &below);
                }
                // What gets the input as it is keeps its name.
                if !entry.keeps_input {
                    self.derives(text);
                }
            }
        } else if entry.writes.has_content() {
            self.touch_named(place, text, files);
        }
        if place.is_file() && entry.keeps_input {
            let input = self.input.clone();
            files.iter().for_each(|file| self.guard_file(file, &input));
        }
    }

    fn file_is_run(&mut self, state: &State, place: &'static Place<'static>, text: &Text, files: &[Text]) {
        let is_input = matches!(literal(text), Some("-" | "/dev/stdin"));
        if is_input && is_make(state.label()) && !matches!(self.input, Input::Texts(_)) {
            // What it reads may include any file.
            self.runs_file(&vec![Atom::Unknown(Tag::Somewhere)]);
        }
        // Code of a shell is followed, and names the scripts that it runs itself.
        let is_followed = matches!(place.kind, PlaceKind::CodeIn(language) if is_shell(language));
        // `find` puts the names of files for it that it finds: below what a value names, and in what was unpacked.
        if place.runs_its_file() && !is_followed && state.is_inside() && literal(text) == Some("{}") {
            self.runs_what_is_found(state.label());
        }
        match place.kind {
            PlaceKind::Program => {
                self.running.runs_file = true;
                files.iter().for_each(|file| self.runs_code(file, state.label()));
                files.iter().for_each(|file| self.runs_file(file));
                files.iter().for_each(|file| self.runs_below(file, |_| true));
            }
            PlaceKind::CodeIn(language) if is_file_of_code(language) => {
                files.iter().for_each(|file| self.runs_code(file, state.label()));
                files.iter().for_each(|file| self.runs_file(file));
            }
            PlaceKind::Data("recipe") => {
                files.iter().for_each(|file| self.runs_code(file, state.label()));
                files.iter().for_each(|file| self.runs_file(file));
                files.iter().for_each(|file| self.runs_unpacked_below(file));
            }
            // A number is no file, nor is a variable.
            PlaceKind::CodeIn("arithmetic" | "name") => {}
            PlaceKind::CodeIn(language) if self.knows_files() => {
                // Code with blanks and a value in it is no name of a file.
                let has_blanks = |atom: &Atom| matches!(atom, Atom::Text(text) if text.contains(char::is_whitespace));
                // That of a shell is followed, and names its files itself.
                let is_code =
                    |file: &Text| (is_shell(language) || literal(file).is_none()) && file.iter().any(has_blanks);
                for file in files.iter().filter(|file| !is_code(file)) {
                    self.find_all(self.written.holes(file), &Reason::Written);
                    self.find_all(self.touched.holes(file, self.itself()), &Reason::Written);
                }
                self.read_by_code(text, language, state.label());
            }
            PlaceKind::Environment | PlaceKind::Data("variable") => {
                if let Some(((name, _), value)) = beginning(text).split_once('=').zip(behind_name(text)) {
                    self.loaded_by(name, &value, true);
                }
            }
            _ if state.is_of_unknown_program() && self.knows_files() => {
                let unknown = self.unknown_program(state.label());
                let holes = files.iter().flat_map(|file| self.written.holes(file)).collect::<Vec<_>>();
                self.find_all(holes, &unknown);
            }
            _ => {}
        }
    }

    /// A file may be one of the system (`if=/proc/self/environ`), or hold more words of the command (`@file`).
    fn reads_words(&mut self, place: &Place<'_>, text: &Text, argument: Option<&Text>) {
        if let Some(argument) = argument {
            let told = self.told_in_file(argument);
            self.running.files.extend(told);
        }
        if place.prefixes.contains(&"@")
            && let Some(words) = beginning(text).strip_prefix('@')
        {
            self.runs_file(&vec![Atom::text(words)]);
        }
    }

    /// A program copies its operands to the last one. A value in the name of that is not in what is copied.
    pub(super) fn writes_copies(&mut self, state: &State, fields: &[Field]) {
        let operands = self.running.operands.clone();
        // Its words may be read in several ways, or be a part of those of `find`.
        let mut seen = HashSet::new();
        let is_certain = fields.iter().all(|field| matches!(field, Field::Word(_)))
            && !state.is_inside()
            && state.entry().unlisted != Unlisted::Ambiguous
            && operands.iter().all(|(files, _)| seen.insert(files));
        let sources = if is_certain { operands.len().saturating_sub(1) } else { 0 };
        for (files, below) in operands.into_iter().skip(sources) {
            let own = files.first().map(holes_of).unwrap_or_default();
            let words = self.running.words.clone();
            self.running.words.retain(|hole| !own.contains(hole));
            self.writes_files(&files, false, &below);
            self.running.words = words;
        }
    }

    /// A program may write what it reads, and what is `below` a directory, to these files.
    fn writes_files(&mut self, files: &[Text], is_prefix: bool, below: &[usize]) {
        for mut file in files.iter().cloned() {
            if self.running.names_own_file {
                self.note_own(&file);
            }
            if is_prefix {
                file.push(Atom::Unknown(Tag::Somewhere));
            }
            // What stands in one file, or is read, may be copied to the other.
            let copied = [self.running.files.as_slice(), &self.input.holes(), below].concat();
            for file in files::unpacked(&file).into_iter().chain([file]) {
                if files::is_any(&file) {
                    self.running.may_write.insert((file, self.running.id));
                } else {
                    self.note_written(&file, &copied);
                    self.touch(&file, self.running.id);
                }
            }
        }
    }

    /// A setting may say a command.
    fn setting_at(&mut self, place: &Place<'_>, text: &Text, program: &str) {
        let Some(text) = literal(text).filter(|_| place.kind == PlaceKind::CodeIn("config")) else { return };
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let command = text.split_once('=').filter(|(name, _)| is_name(name)).map_or(text, |(_, command)| command);
        self.may_be_command(command, program);
    }

    /// The author's code in another language names a file, which it may run.
    fn read_by_code(&mut self, code: &Text, language: &str, program: &str) {
        // Code of a shell is followed.
        if is_shell(language) {
            return;
        }
        let names = files::names_in(code);
        for file in &names {
            let unpacked = self.holes_unpacked(file);
            let held = [self.written.holes(file), self.touched.holes(file, self.itself()), unpacked].concat();
            self.running.outputs.extend(held);
        }
        let is_harmless =
            is_of_reading(language) || literal(code).is_some_and(|code| watch::writes_nothing(language, code));
        if is_harmless {
            return;
        }
        for file in names.iter().filter(|file| !literal(file).is_some_and(files::is_data)) {
            let mut holes = self.written.holes(file);
            let name = files::FileName::of(file);
            if name.is_code() || name.ends_with(".sql") {
                holes.extend(self.touched.holes(file, self.itself()));
            }
            self.find_unclear(holes, &format!("the code of `{program}` may run the file that holds it"));
        }
    }

    /// The author's code in another language names variables of its environment, whose values it may print and write.
    pub(super) fn takes_variables(&mut self, code: &Text) {
        if self.in_variables.is_empty() {
            return;
        }
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for atom in code {
            let Atom::Text(code) = atom else { continue };
            for word in code.split(|c| !is_of_name(c)) {
                let holes = self.in_variables.get(word).into_iter().flatten();
                self.running.taken.extend(holes);
            }
        }
    }

    /// The author's code in another language stands in what the command reads.
    pub(super) fn reads_code(&mut self, language: &'static str, program: &Arc<str>) {
        let Input::Texts(texts) = self.input.clone() else { return };
        for code in &texts {
            self.takes_variables(code);
            self.touch_all(&written_by_code(language, code), self.running.id);
            if self.knows_files() {
                self.read_by_code(code, language, program);
            }
        }
    }

    /// A value, or what was made of it, stands at a place.
    pub(super) fn place(
        &mut self,
        place: &'static Place<'static>,
        text: &Text,
        options: Option<&(&'static str, Arc<str>)>,
        option: &'static str,
        program: &Arc<str>,
        is_unknown: bool,
    ) {
        let holes = holes_of(text);
        if holes.is_empty() {
            return;
        }
        // A value that is all of a field is what the author means to be asked; a command behind a `|` is nobody's question.
        let is_asked = |opening: &str| opening.ends_with('=') && text.len() <= 2 && beginning(text) == opening;
        let is_code = |opening: &str| beginning(text).starts_with(opening) && !is_asked(opening);
        if let Some((language, _)) = place.code_behind.iter().find(|(_, opening)| is_code(opening)) {
            return self.find_code(holes, program, language);
        }
        let noun = match place.kind {
            PlaceKind::CodeIn(language) => return self.find_code(holes, program, language),
            PlaceKind::Program => return self.find_code(holes, program, "program"),
            PlaceKind::Arguments if !place.word_behind.is_empty() => {
                return self.words_in_arguments(place, text, program);
            }
            PlaceKind::Arguments => return self.find_code(holes, program, "arguments"),
            PlaceKind::Environment => return self.environment(text, program),
            PlaceKind::Command | PlaceKind::CommandUntil | PlaceKind::Module | PlaceKind::As(_) => return,
            PlaceKind::Data("file")
                if self.running.reads_filters && matches!(&**program, "ffmpeg" | "ffprobe" | "ffplay") =>
            {
                return self.find_code(holes, program, "filter");
            }
            PlaceKind::Data(noun) => {
                if noun == "variable" {
                    // It is one of another machine, or of a container, whose programs read it as those here do.
                    match beginning(text).split_once('=') {
                        Some((name, _)) if programs::runs_variable(name, true) => {
                            let name = name.into();
                            return self.find_by_kind(holes, &Reason::Environment { name }, "a variable");
                        }
                        Some(_) => self.assign_in_command(text),
                        None => return self.find_code(holes, program, "environment"),
                    }
                }
                if noun == "output" { "file" } else { noun }
            }
            PlaceKind::Plain => "plain word",
            PlaceKind::Format => "format",
            PlaceKind::Unknown => "argument",
        };
        let is_mixed = !is_name_like(text);
        for hole in holes {
            if !self.is_text(hole) {
                self.find(hole, Reason::Argument { program: Arc::clone(program), noun, option });
            } else if is_unknown {
                self.find(hole, self.unknown_program(program));
            } else if is_mixed && matches!(place.kind, PlaceKind::Plain | PlaceKind::Unknown) {
                self.find(hole, Reason::Mixed { program: Arc::clone(program) });
            } else {
                self.find(hole, Reason::Argument { program: Arc::clone(program), noun, option });
            }
        }
        self.guards(place, text, options, program);
    }

    /// A text of several arguments, in one of which a value may be a word: `-s -w -X main.version={VERSION}`.
    fn words_in_arguments(&mut self, place: &Place<'_>, text: &Text, program: &Arc<str>) {
        let mut before = String::new();
        for atom in text {
            match atom {
                Atom::Text(text) => before.push_str(text),
                Atom::Unknown(_) | Atom::Output(_) => before.push('?'),
                Atom::Value { hole, cut } => {
                    let mut words = before.split_ascii_whitespace().rev();
                    let is_word = words.next().is_some_and(|word| word.contains('='))
                        && words.next() == Some(place.word_behind)
                        && !before.ends_with(|c: char| c.is_ascii_whitespace());
                    if is_word && !cut.is_joined() && self.is_text(*hole) {
                        let guard = Guard { rule: Rule::Plain, cut: *cut, program: Arc::clone(program) };
                        let noun = Reason::Argument { program: Arc::clone(program), noun: "plain word", option: "" };
                        self.find_guarded(*hole, noun, Some(guard));
                    } else {
                        self.find_code([*hole], program, "arguments");
                    }
                    before.push('?');
                }
                Atom::Derived(holes) => {
                    self.find_code(holes.iter().copied(), program, "arguments");
                    before.push('?');
                }
            }
        }
    }

    /// `find` puts the name of a file for each `{}` in the words of its command, which a `;` or a `+` ends.
    fn replaced_by_names(&mut self, text: &Text, program: &Arc<str>, starter: &Arc<str>) {
        let reason = Reason::Argument { program: Arc::clone(program), noun: "argument", option: "" };
        let is_all_made = text.iter().all(|atom| !matches!(atom, Atom::Text(_)));
        for atom in text.iter().filter(|_| is_all_made) {
            match atom {
                Atom::Value { hole, cut } if self.is_text(*hole) => {
                    let rule = Rule::NoWord { words: &[";", "+"] };
                    let guard = Guard { rule, cut: *cut, program: Arc::clone(starter) };
                    self.find_guarded(*hole, reason.clone(), Some(guard));
                }
                Atom::Derived(holes) | Atom::Output(holes) => {
                    let why = format!("what is made of it may end the command that `{starter}` starts");
                    self.find_unclear(holes.iter().copied(), &why);
                }
                _ => {}
            }
        }
        for hole in holes_of(text).into_iter().filter(|hole| self.is_text(*hole)).collect::<Vec<_>>() {
            let rule = Rule::Lacks { text: "{}" };
            let guard = Guard { rule, cut: Cut::WHOLE, program: Arc::clone(program) };
            self.find_guarded(hole, reason.clone(), Some(guard));
        }
    }

    /// A word in which `find` puts names of files for `{}`: what its words say decides which, as with what a program prints.
    pub(super) fn with_names(&mut self, text: &Text) -> Text {
        let mut named = Text::new();
        let of_names = [self.running.arguments.clone(), self.holes_in_names(true)].concat();
        for atom in text {
            let Atom::Text(own) = atom else {
                value::push(&mut named, atom.clone());
                continue;
            };
            for (index, part) in own.split("{}").enumerate() {
                if index > 0 {
                    value::push(&mut named, output_of(&of_names));
                }
                value::push(&mut named, Atom::text(part));
            }
        }
        named
    }

    /// What the values of a word must not look like.
    fn guards(
        &mut self,
        place: &'static Place<'static>,
        text: &Text,
        options: Option<&(&'static str, Arc<str>)>,
        program: &Arc<str>,
    ) {
        // What certainly stands before a value; and what does, with a mark for all that is not the author's.
        let (mut before, mut author) = (String::new(), structure::Before::START);
        for (index, atom) in text.iter().enumerate() {
            let is_first = before.is_empty();
            match atom {
                Atom::Text(text) => {
                    before.push_str(text);
                    author.read(text);
                }
                Atom::Unknown(tag) => {
                    author.pass();
                    if matches!(tag, Tag::Number(_) | Tag::Given(_)) {
                        before.push('?');
                    }
                }
                // It may be empty, and then what follows begins the word.
                Atom::Output(_) => author.pass(),
                Atom::Value { hole, cut } => {
                    let is_text = self.is_text(*hole);
                    let mut rules = Vec::new();
                    let is_number = place.kind == PlaceKind::Data("number");
                    if let Some((signs, _)) = options.filter(|_| is_first && (is_text || !is_number)) {
                        // A path begins with `./`, and its last part may begin with anything.
                        let is_allowed = cut.keeps_start() && self.holes.get(*hole).is_some_and(|hole| hole.options);
                        if !is_allowed {
                            rules.push(Rule::Option { signs });
                        }
                    }
                    if is_text {
                        for prefix in &place.prefixes {
                            if let Some(rest) = prefix.strip_prefix('=') {
                                if before.ends_with('=') && before.matches('=').count() == 1 {
                                    rules.push(Rule::Prefix {
                                        prefix: rest.to_owned(),
                                        goes_on: index + 1 < text.len(),
                                    });
                                } else if !before.contains('=') {
                                    rules.push(Rule::Lacks { text: prefix });
                                }
                                continue;
                            }
                            if let Some(rest) = prefix.strip_prefix(before.as_str()).filter(|rest| !rest.is_empty()) {
                                let goes_on = index + 1 < text.len();
                                rules.push(Rule::Prefix { prefix: rest.to_owned(), goes_on });
                            }
                        }
                        rules.extend(self.rules_of_text(place, (&before, &author), text, index, program));
                        let content = content_rules(place);
                        if cut.is_joined() && !(content.is_empty() && place.prefixes.is_empty()) {
                            self.find_unclear(
                                [*hole],
                                &format!("a line or a part of it may mean something to `{program}`"),
                            );
                        }
                        rules.extend(content);
                    }
                    let noun = Reason::Argument { program: Arc::clone(program), noun: "argument", option: "" };
                    for rule in rules {
                        let reader = match (&rule, options) {
                            (Rule::Option { .. }, Some((_, reader))) => reader,
                            _ => program,
                        };
                        let guard = Guard { rule, cut: *cut, program: Arc::clone(reader) };
                        self.find_guarded(*hole, noun.clone(), Some(guard));
                    }
                    // The value may be empty, and then what follows begins the word.
                    author.pass();
                }
                Atom::Derived(holes) => {
                    let is_open = is_first && (options.is_some() || !place.prefixes.is_empty());
                    if !content_rules(place).is_empty() {
                        self.find_respelt(atom, RESPELT);
                    }
                    for &hole in holes.iter() {
                        if !self.is_text(hole) {
                            continue;
                        }
                        if is_open {
                            self.find(hole, Reason::Changed { program: Arc::clone(program) });
                        }
                        for rule in content_rules(place) {
                            let guard = Guard { rule, cut: Cut::WHOLE, program: Arc::clone(program) };
                            let noun = Reason::Argument { program: Arc::clone(program), noun: "argument", option: "" };
                            self.find_guarded(hole, noun, Some(guard));
                        }
                    }
                }
            }
        }
    }

    /// What a value must be to stay the part of the author's text in which it stands.
    fn rules_of_text(
        &self,
        place: &'static Place<'static>,
        (certain, author): (&str, &structure::Before),
        text: &Text,
        index: usize,
        program: &str,
    ) -> Vec<Rule> {
        let Some(Atom::Value { hole, .. }) = text.get(index) else { return Vec::new() };
        let goes_on = index + 1 < text.len();
        let mut rules = Vec::new();
        for (_, opening) in &place.code_behind {
            let rest = opening.strip_prefix(certain).filter(|rest| !rest.is_empty());
            rules.extend(rest.map(|rest| Rule::Prefix { prefix: rest.to_owned(), goes_on }));
        }
        rules.extend(author.rule(self.is_json_string(*hole)));
        let behind = beginning(&text[index + 1..]);
        if !ECHOING.contains(&program) {
            let is_clear = !goes_on || !behind.is_empty();
            let is_address = place.kind == PlaceKind::Data("url");
            rules.extend(structure::in_address(&author.text, is_clear.then_some(behind), is_address));
        }
        if place.kind == PlaceKind::Data("form") && structure::is_in_form(&author.text) {
            rules.push(Rule::Without { characters: "&" });
        }
        // A line that must stay one is the head of a message.
        if place.without.contains('\n') {
            rules.extend(structure::in_header(&author.text).map(|characters| Rule::Without { characters }));
        }
        if !place.without_behind.is_empty() && !author.text.is_empty() && !author.text.contains(structure::MARK) {
            rules.push(Rule::Without { characters: place.without_behind });
        }
        if !place.without_at_end.is_empty() && !goes_on {
            rules.push(Rule::End { characters: place.without_at_end });
        }
        rules
    }
}

/// Whether a word behind `>&` is the number of a descriptor, or closes one.
pub(super) fn is_number(text: &Text) -> bool {
    literal(text).is_some_and(|text| text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit()))
}

/// A [`Seen`] that owns its text.
pub(super) enum Owned {
    Place { place: &'static Place<'static>, text: Text, is_option_read: bool, option: &'static str },
    Option { text: Text },
    Subcommand { text: Text },
    Lost { text: Text, why: String },
}

impl Owned {
    /// Takes over what concerns values, and code; and what names files, as each name does where that is `by_name`.
    pub(super) fn of(seen: &Seen<'_>, (copies, by_name): (bool, bool)) -> Option<Self> {
        let has_values = |text: &[Atom]| text.iter().any(|atom| !atom.holes().is_empty());
        Some(match *seen {
            Seen::Place { place, text, is_option_read, option }
                if has_values(text)
                    || copies
                        && (place.is_file()
                            || matches!(place.kind, PlaceKind::Data("prefix" | "variable"))
                            || matches!(place.kind, PlaceKind::Arguments | PlaceKind::Environment))
                    || by_name && matches!(place.kind, PlaceKind::Data("name" | "ref" | "text" | "url"))
                    || place.runs_its_file()
                    || place.kind == PlaceKind::Unknown
                    || may_reach_shell(place) && has_dollar(text) =>
            {
                Self::Place { place, text: text.to_vec(), is_option_read, option }
            }
            Seen::Option { text } if has_values(text) => Self::Option { text: text.to_vec() },
            Seen::Subcommand { text } if has_values(text) => Self::Subcommand { text: text.to_vec() },
            Seen::Lost { text, why } if has_values(text) || copies => {
                Self::Lost { text: text.to_vec(), why: why.to_owned() }
            }
            _ => return None,
        })
    }
}

/// Languages in which `$NAME` is a variable of their own.
const OWN_VARIABLES: [&str; 26] = [
    "R",
    "awk",
    "cmake",
    "dasel",
    "elixir",
    "elvish",
    "execline",
    "gnuplot",
    "graphql",
    "groovy",
    "hcl",
    "javascript",
    "jq",
    "julia",
    "make",
    "mlr",
    "nix",
    "nu",
    "perl",
    "php",
    "ruby",
    "tcl",
    "template",
    "xonsh",
    "xpath",
    "yq",
];

/// Whether a program may hand a word, or a part of it, to a shell that it starts.
fn may_reach_shell(place: &Place<'_>) -> bool {
    match place.kind {
        PlaceKind::Unknown | PlaceKind::Program | PlaceKind::Arguments => true,
        PlaceKind::CodeIn(language) => !is_shell(language) && !OWN_VARIABLES.contains(&language),
        _ => false,
    }
}

/// The variable that a word `NAME=value` sets for what a program builds, where programs run or load from what it says.
fn variable_of_build<'t>(program: &str, word: &'t str) -> Option<&'t str> {
    let sets = is_make(program) || matches!(program, "cmake" | "configure" | "rake");
    let (name, value) = word.split_once('=').filter(|_| sets)?;
    let name = name.trim_end_matches([':', '+', '?', '!']);
    // A plain word that goes on with one of several options is no option: `CFLAGS="-O2 -DNAME={X}"`.
    let goes_on = value.ends_with(|c: char| !c.is_whitespace());
    let is_list = ["FLAGS", "OPTS", "OPTIONS", "ARGS"].iter().any(|end| name.ends_with(end));
    (programs::runs_variable(name, true) && !(is_list && goes_on)).then_some(name)
}

/// The recipes of a makefile as a shell gets them. Source: GNU make manual, "Recipe Echoing" and "Errors in Recipes".
fn for_shell(recipes: &str) -> String {
    let lines = recipes.lines().map(|line| line.strip_prefix('\t').map_or(line, |line| line.trim_start_matches(MARKS)));
    lines.collect::<Vec<_>>().join("\n").replace("$$", "$")
}

/// What stands before a command in a recipe.
const MARKS: [char; 5] = ['@', '-', '+', ' ', '\t'];

/// Whether a `$` stands in a text that the shell which read it has left there.
fn has_dollar(text: &[Atom]) -> bool {
    text.iter().any(|atom| matches!(atom, Atom::Text(text) if text.contains('$')))
}

/// Whether code in this language stands in a file that a word names.
pub(super) fn is_file_of_code(language: &str) -> bool {
    matches!(language, "config" | "program" | "make" | "library" | "plugin")
}

/// Whether no code in this language can write a file.
pub(super) fn is_of_reading(language: &str) -> bool {
    const READING: [&str; 10] =
        ["arithmetic", "graphql", "jmespath", "jq", "keys", "mount", "name", "rego", "template", "xpath"];
    READING.contains(&language)
}

pub(super) fn is_shell(language: &str) -> bool {
    matches!(language, "sh" | "sh-joined" | "sh-words")
}

/// The rule for a value in a text that says itself what it is.
fn by_itself(before: &structure::Before, _: bool, is_json_string: bool) -> Option<Rule> {
    before.rule(is_json_string)
}

/// Whether all that stands around the values are characters that names are made of.
fn is_name_like(text: &Text) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,~^#?&*[]-".contains(c);
    let holds = |atom: &Atom| match atom {
        Atom::Text(text) => text.chars().all(is_name),
        Atom::Value { .. } | Atom::Unknown(_) | Atom::Output(_) | Atom::Derived(_) => true,
    };
    text.iter().all(holds)
}

fn content_rules(place: &'static Place<'static>) -> Vec<Rule> {
    let mut rules = Vec::new();
    match place.kind {
        PlaceKind::Plain => rules.push(Rule::Plain),
        PlaceKind::Format => rules.push(Rule::Without { characters: "%\\" }),
        _ => {}
    }
    if !place.without.is_empty() {
        rules.push(Rule::Without { characters: place.without });
    }
    rules
}
