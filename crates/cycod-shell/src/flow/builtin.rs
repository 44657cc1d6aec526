//! Builtins that change what the shell knows: variables, arguments, code that is evaluated.
//!
//! What each of their words is stands in the tables, like that of every program. Here is what they do with it.

use super::value::{self, Atom, Cut, Field, Text, holes_among, holes_of, literal, made_of, push, texts_among};
use super::{Called, Flow, Input, MOST_PRINTED, Reason};
use crate::piece::Shell;
use crate::script::{Part, Word};
use crate::verdict::{Guard, Rule};

/// The variables with the directory that a shell works in, and those where it was. Source: bash(1), zshparam(1).
pub(super) const DIRECTORIES: [&str; 4] = ["PWD", "OLDPWD", "DIRSTACK", "dirstack"];

impl Flow<'_> {
    /// Runs a function or a builtin; nothing when `name` is neither, or when the tables say all there is to say.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        rest: &[Field],
        words: &[Word],
        splits_otherwise: bool,
    ) -> Option<Input> {
        if !self.is_shell {
            return None;
        }
        if self.functions.contains_key(name) {
            return self.call(name, rest.to_vec());
        }
        self.shell_builtin(name, rest, words, splits_otherwise)
    }

    fn shell_builtin(&mut self, name: &str, rest: &[Field], words: &[Word], splits_otherwise: bool) -> Option<Input> {
        self.note_move(name);
        if self.shell == Shell::Zsh {
            self.changes_zsh(name, rest);
        }
        match name {
            name if self.reads_scripts(name) => {
                self.sourced(rest);
                None
            }
            "command" | "builtin" | "exec" | "noglob" | "nocorrect" | "-" => {
                self.without_prefix(name, rest, words, splits_otherwise)
            }
            "eval" => {
                match in_one(rest).as_deref() {
                    Some(texts) if !texts.is_empty() => {
                        texts.iter().for_each(|text| self.evaluate(text, &"eval".into(), Called::default()));
                    }
                    _ => self.find_code(holes_among(rest), &"eval".into(), "sh"),
                }
                Some(Input::made("", &holes_among(rest)))
            }
            "trap" => {
                self.trap(rest);
                Some(Input::Clean)
            }
            "export" | "declare" | "typeset" | "local" | "readonly" | "integer" | "float" => {
                self.declarations(name, words);
                Some(self.printed_variables(rest))
            }
            "alias" | "hash" => {
                self.gives_meaning(name, rest);
                None
            }
            "shopt" => {
                self.echo_escapes |= rest.iter().any(|word| word_is(word, |text| text == "xpg_echo"));
                None
            }
            "set" => {
                self.set(words);
                Some(if rest.is_empty() { self.printed_variables(rest) } else { Input::Clean })
            }
            "unset" => {
                self.unset(rest);
                None
            }
            "return" => {
                self.assigned.comes_back();
                None
            }
            "shift" => {
                self.shift(words);
                None
            }
            "read" => {
                self.read(rest, splits_otherwise);
                None
            }
            "mapfile" | "readarray" => {
                self.mapfile(rest);
                None
            }
            "cd" | "pushd" | "chdir" | "pwd" | "dirs" => self.directory(name, rest),
            "dirname" | "realpath" | "readlink" if self.watches() => Some(self.watched_path(name, rest)),
            "getopts" => {
                self.getopts(rest);
                None
            }
            "let" => {
                for text in texts_among(rest) {
                    self.calculated_text(&text);
                }
                None
            }
            // These print nothing.
            "test" | "[" => {
                self.tests(rest);
                self.places(name, rest);
                Some(Input::Clean)
            }
            ":" | "true" | "false" => {
                self.places(name, rest);
                Some(Input::Clean)
            }
            _ => self.printing(name, rest),
        }
    }

    /// A command that prints what it is given or reads.
    fn printing(&mut self, name: &str, rest: &[Field]) -> Option<Input> {
        match name {
            "echo" | "print" => {
                self.places(name, rest);
                self.leaves_lines_open |= rest.first().and_then(word_literal).is_some_and(|text| text.starts_with('-'));
                let (printed, has_escapes) = printed_by_echo(rest);
                if has_escapes {
                    self.respells(printed.holes());
                }
                self.note_code_text(&printed);
                Some(if self.echo_escapes && self.captured > 0 { self.unescaped(printed) } else { printed })
            }
            "printf" => {
                self.places(name, rest);
                self.leaves_lines_open |=
                    rest.iter().find_map(word_literal).is_none_or(|format| !format.ends_with("\\n"));
                let printed = self.printf(rest);
                self.note_code_text(&printed);
                Some(printed)
            }
            "cat" => {
                let printed = self.places(name, rest);
                let only_input = rest.iter().all(|field| word_is(field, |text| text.starts_with('-')));
                Some(if only_input { self.input.clone() } else { self.input.clone().and(printed) })
            }
            "tee" => {
                self.places(name, rest);
                let holes = self.input.holes();
                texts_among(rest).iter().for_each(|file| self.note_authored(file));
                if !holes.is_empty() {
                    texts_among(rest).iter().for_each(|file| self.note_written(file, &holes));
                }
                Some(self.input.clone())
            }
            "basename" | "dirname" => self.part_of_path(name, rest),
            "which" if !self.watches() => match rest {
                [Field::Word(program)] if !super::beginning(program).starts_with('-') => {
                    self.places(name, rest);
                    Some(self.found_program(program))
                }
                _ => None,
            },
            "type" => match rest {
                [Field::Word(option), Field::Word(program)]
                    if matches!(literal(option), Some("-p" | "-P")) && !self.watches() =>
                {
                    self.places(name, rest);
                    Some(self.found_program(program))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `alias NAME=TEXT` and `hash -p FILE NAME`. A script of bash has aliases only behind `shopt -s expand_aliases`, which is not
    /// asked for.
    fn gives_meaning(&mut self, by: &str, rest: &[Field]) {
        let is_path = |word: &Field| word_is(word, |text| text.starts_with('-') && text.contains('p'));
        let has_path = rest.iter().any(is_path);
        for text in texts_among(rest) {
            match super::beginning(&text).split_once('=') {
                Some((name, _)) if by == "alias" => self.renames(Some(name)),
                _ if by == "hash" && has_path => self.renames(literal(&text)),
                _ => {}
            }
        }
    }

    /// `mapfile -C CODE`: the code runs with the number of a line and the line behind it.
    fn calls_back(&mut self, array: &str, rest: &[Field]) {
        let mut fields = rest.iter();
        while let Some(field) = fields.next() {
            let Some(option) = word_literal(field).filter(|text| text.starts_with('-')) else { continue };
            let Some((_, attached)) = option.split_once('C') else { continue };
            let codes = if attached.is_empty() { texts_among(fields.next()) } else { vec![vec![Atom::text(attached)]] };
            for mut code in codes {
                push(&mut code, Atom::text(&format!(" 0 \"${{{array}}}\"")));
                self.perhaps(|flow| flow.evaluate(&code, &"eval".into(), Called::default()));
            }
        }
    }

    /// `mapfile`, which makes a list of lines.
    fn mapfile(&mut self, rest: &[Field]) {
        let lines = match self.literal_records(Some('\n')) {
            Some(lines) => lines,
            None => self.pieces_of_input(Some(Cut::WORD)),
        };
        let is_option = |field: &&Field| word_is(field, |text| !is_name(text));
        let default = Field::Word(vec![Atom::text("MAPFILE")]);
        let name = rest.last().filter(|last| !is_option(last)).unwrap_or(&default);
        self.assign_list_each(name, &lines, "mapfile");
        for name in texts_among([name]).iter().filter_map(|name| literal(name)) {
            self.calls_back(name, rest);
        }
    }

    /// `trap`, whose first word is code that runs later.
    fn trap(&mut self, rest: &[Field]) {
        let words = rest.iter().skip_while(|field| word_is(field, |text| matches!(text, "--" | "-p" | "-l")));
        for code in texts_among(words.clone().next()) {
            // It runs later, or never.
            let walk = |flow: &mut Self| flow.evaluate(&code, &"trap".into(), Called::default());
            self.reading(Input::Clean, false, |flow| flow.perhaps(walk));
        }
        let signals: Vec<Field> = words.skip(1).cloned().collect();
        self.find_all(holes_among(&signals), &Reason::Shell("the name of a signal"));
    }

    /// What changes the directory that the shell works in, or prints it.
    fn directory(&mut self, name: &str, rest: &[Field]) -> Option<Input> {
        match name {
            "pwd" if self.watches() => {
                return Some(Input::Texts(vec![vec![Atom::Unknown(super::Tag::Variable("PWD".into()))]]));
            }
            "pwd" | "dirs" => {
                self.places(name, rest);
                return Some(Input::Texts(self.values(DIRECTORIES[0]))).filter(|printed| !printed.holes().is_empty());
            }
            _ => {
                self.moves(&holes_among(rest));
                self.visits(rest);
            }
        }
        let printed = self.places(name, rest);
        if self.watches() {
            let targets = texts_among(rest);
            let targets = targets.iter().filter(|text| !super::beginning(text).starts_with('-'));
            targets.for_each(|text| self.note_directory(text));
        }
        Some(if name == "pushd" { printed } else { Input::Clean })
    }

    /// The shell keeps the name of the directory that it works in.
    fn moves(&mut self, holes: &[usize]) {
        for name in DIRECTORIES.iter().filter(|_| !holes.is_empty()) {
            self.assign(name, vec![Atom::text("/"), made_of(holes)]);
        }
    }

    /// What `set` and `declare -p` print: variables with their values, quoted for the shell. That is not followed.
    fn printed_variables(&self, rest: &[Field]) -> Input {
        let is_list = |field: &Field| word_is(field, |text| text.starts_with('-') && !text.contains(['f', 'F']));
        let is_print = |field: &Field| word_is(field, |text| text.starts_with('-') && text.contains('p'));
        match rest.iter().any(is_print) || rest.iter().all(is_list) {
            true => Input::made("", &self.holes_of_variables()),
            false => Input::Clean,
        }
    }

    /// `unset`, behind which a variable may have no value wherever else it is used.
    fn unset(&mut self, rest: &[Field]) {
        let is_of_functions = rest.iter().any(|field| word_is(field, |text| text == "-f"));
        if is_of_functions {
            return;
        }
        for text in texts_among(rest) {
            self.subscript_in_name(&text);
            match literal(&text) {
                Some(option) if option.starts_with('-') && option != "-m" => {}
                Some(element) => {
                    let name = element.split('[').next().unwrap_or_default();
                    self.has_grown |= self.assigned.unset(Some(name).filter(|name| is_name(name)));
                    if name == element {
                        self.assigned.set_keys(name, false, false);
                        // It may run again before the array is declared again.
                        self.has_grown |= self.loops > 0 && self.assigned.unset(Some(&format!("{name}[]")));
                    }
                }
                None => self.has_grown |= self.assigned.unset(None),
            }
        }
    }

    /// `getopts`, which gives the arguments of the script to variables.
    fn getopts(&mut self, rest: &[Field]) {
        let arguments = self.all_arguments();
        let holes = holes_among(&arguments);
        if !holes.is_empty() {
            self.assign("OPTARG", vec![made_of(&holes)]);
        }
        if let Some(name) = rest.get(1).and_then(word_literal) {
            self.assign(name, vec![Atom::Unknown(super::Tag::Somewhere)]);
        }
    }

    /// `basename` and `dirname`, which print a part of a path.
    fn part_of_path(&mut self, name: &str, rest: &[Field]) -> Option<Input> {
        use super::variables::{beginnings_of, last_part};
        let texts = texts_among(rest);
        let mut of_values = texts.iter().filter(|text| !holes_of(*text).is_empty());
        // What is left of a path begins behind a `/`, or where the path begins.
        let parts = match (of_values.next(), of_values.next()) {
            (Some(path), None) if name == "basename" => {
                last_part(path).or_else(|| Some(vec![super::expand::cut_text(path, Cut::behind('/')?)?]))
            }
            (Some(path), None) => Some(beginnings_of(path)),
            (Some(_), Some(_)) => None,
            (None, _) => return None,
        };
        self.places(name, rest);
        Some(parts.map_or_else(|| Input::made("", &holes_among(rest)), Input::Texts))
    }

    /// What `command -v` and `which` print of a program, which may not be there.
    fn found_program(&self, name: &Text) -> Input {
        if !literal(name).is_some_and(is_program_name) {
            return Input::made("", &holes_of(name));
        }
        // Its path is the path of that program.
        Input::Texts(vec![name.clone(), vec![Atom::Unknown(super::Tag::Absent)]])
    }

    /// What `dirname`, `realpath` and `readlink` print, where it matters which file that is.
    fn watched_path(&mut self, name: &str, rest: &[Field]) -> Input {
        let path = texts_among(rest).into_iter().rfind(|text| !super::beginning(text).starts_with('-'));
        let printed = match name {
            "dirname" => path.as_ref().and_then(super::watch::parent),
            _ => path,
        };
        self.places(name, rest);
        Input::Texts(vec![printed.unwrap_or_else(|| vec![Atom::Unknown(super::Tag::Somewhere)])])
    }

    /// Notes what the words of a builtin are, as the tables say.
    fn places(&mut self, name: &str, rest: &[Field]) -> Input {
        let mut fields = vec![Field::Word(vec![Atom::text(name)])];
        fields.extend(rest.iter().cloned());
        self.programs_of(&fields)
    }

    fn without_prefix(&mut self, name: &str, rest: &[Field], words: &[Word], splits_otherwise: bool) -> Option<Input> {
        let mut at = 0;
        while let Some(option) = rest.get(at).and_then(word_literal).filter(|text| text.starts_with('-')) {
            at += 1;
            match (name, option) {
                ("command", "-v" | "-V" | "-pv" | "-pV") => {
                    self.places("type", &rest[at..]);
                    // It prints where the program is that it names.
                    return Some(match rest.get(at) {
                        Some(Field::Word(text)) if self.watches() => Input::Texts(vec![text.clone()]),
                        Some(Field::Word(text)) if !option.ends_with('V') && rest.len() == at + 1 => {
                            self.found_program(text)
                        }
                        _ => Input::Clean,
                    });
                }
                ("exec", "-a" | "-la" | "-ca" | "-cla") => at += 1,
                _ => {}
            }
        }
        let rest = &rest[at..];
        if rest.is_empty() {
            return Some(Input::Clean);
        }
        let mut printed = Input::Clean;
        for fields in super::commands::heads(rest.to_vec()) {
            let inner = fields.first().and_then(word_literal);
            let inner = inner.filter(|_| name != "exec");
            let one = inner.and_then(|inner| {
                let from = words.iter().position(|word| word.literal() == Some(inner)).unwrap_or(0);
                self.shell_builtin(inner, &fields[1..], &words[from..], splits_otherwise)
            });
            let one = one.unwrap_or_else(|| self.programs_of(&fields));
            printed = printed.or(one);
        }
        Some(printed)
    }

    /// `declare`, `local` and their relatives, which take assignments as arguments.
    fn declarations(&mut self, by: &str, words: &[Word]) {
        let mut options = match by {
            "integer" => "i".to_owned(),
            "float" => "F".to_owned(),
            "export" => "x".to_owned(),
            _ => String::new(),
        };
        for word in words.iter().skip(1) {
            let head = match word.parts.first() {
                Some(Part::Text { text, .. }) => &**text,
                _ => "",
            };
            if word.literal().is_some_and(|text| text.starts_with(['-', '+'])) {
                options.push_str(head);
                continue;
            }
            if options.contains('f') {
                self.has_grown |= options.contains('x') && self.exported_functions.insert(head.into());
                continue;
            }
            let name = head.split(['=', '[', '+']).next().unwrap_or_default().to_owned();
            let is_assignment = head.contains('=') || head.contains('[') && word.parts.len() > 1;
            if is_name(&name) && (is_assignment || word.literal().is_some()) {
                self.declare(&name, &options);
                let is_of_function = match by {
                    "export" | "readonly" => false,
                    _ => !options.contains('g') && self.assigned.is_in_function(),
                };
                if is_of_function && !self.watches() {
                    self.assigned.add_local(&name);
                }
                // At the top, an array stays what it is.
                let are_text = options.contains('A');
                if are_text || is_of_function {
                    self.assigned.set_keys(&name, are_text, is_of_function);
                }
                if options.contains('n') {
                    let texts = self.single(word);
                    let holes: Vec<usize> = texts.iter().flat_map(holes_of).collect();
                    self.find_all(holes, &Reason::Name { by: by.into() });
                    return self.lose("a variable in it is a reference to another");
                }
                if is_assignment {
                    self.assignment(word, false);
                    self.read_again(&name, word, by);
                }
                continue;
            }
            // The name itself comes from elsewhere.
            let fields = self.fields(word);
            for text in texts_among(&fields) {
                self.assign_named(&text, by);
            }
            let holes = holes_among(&fields);
            self.find_by_kind(holes, &Reason::Name { by: by.into() }, "the name of a variable");
        }
    }

    /// What bash reads a second time in a word that assigns: a subscript in quotes, and a list for an array, `declare -a list="(…)"`.
    /// Source: bash 5.2, where `declare` expands both.
    fn read_again(&mut self, name: &str, word: &Word, by: &str) {
        if self.shell == Shell::Zsh {
            return;
        }
        let is_array = self
            .variables
            .get(name)
            .is_some_and(|variable| variable.is_array || !variable.lists.is_empty() || !variable.elements.is_empty());
        let has_subscript = |text: &Text| {
            let head = super::beginning(text);
            head.find('[').is_some_and(|bracket| head.find('=').is_none_or(|equals| bracket < equals))
        };
        let is_bare = matches!(word.parts.get(1), Some(Part::Arithmetic(_) | Part::Array(_)));
        for text in if is_bare { Vec::new() } else { self.single(word) } {
            if has_subscript(&text) {
                let end = text.iter().skip(1).position(|atom| matches!(atom, Atom::Text(text) if text.contains("]")));
                let subscript = &text[..end.map_or(text.len(), |end| end + 1)];
                self.calculated_text(&subscript.to_vec());
            } else if is_array && let Some((_, list)) = split_at(&text, '=') {
                self.assigned_as_list(name, &list, by);
            }
        }
    }

    /// A text that bash takes for a list where it is in parentheses.
    fn assigned_as_list(&mut self, name: &str, text: &Text, by: &str) {
        match text.first() {
            Some(Atom::Text(begin)) if begin.starts_with('(') => {
                let mut code = vec![Atom::text(&format!("{name}="))];
                text.iter().for_each(|atom| push(&mut code, atom.clone()));
                self.evaluate(&code, &"eval".into(), Called::default());
                self.find_all(holes_of(text), &Reason::Evaluated { by: by.into() });
            }
            Some(Atom::Value { hole, cut }) if self.is_text(*hole) => {
                let rule = Rule::Prefix { prefix: "(".to_owned(), goes_on: false };
                let guard = Guard { rule, cut: *cut, program: by.into() };
                self.find_guarded(*hole, Reason::Shell("a text that would be a list in parentheses"), Some(guard));
            }
            Some(Atom::Derived(holes) | Atom::Output(holes)) => {
                let rule = Rule::Without { characters: "(" };
                self.guard_texts(holes.to_vec(), &rule, by, "a text that would be a list in parentheses");
            }
            _ => {}
        }
    }

    /// `declare "$name=value"`, where the name is one of the author's.
    fn assign_named(&mut self, text: &Text, by: &str) {
        let Some((name, before)) = super::beginning(text).split_once('=') else { return };
        if is_name(name) {
            let name = name.to_owned();
            let mut value = Text::new();
            for atom in std::iter::once(&Atom::text(before)).chain(&text[1..]) {
                push(&mut value, atom.clone());
            }
            self.declare(&name, if by == "export" { "x" } else { "" });
            // Which of its names it takes is not known.
            self.perhaps(|flow| flow.assign(&name, value));
        }
    }

    /// Assigns each of these texts to each variable that one of these words may name.
    fn assign_each(&mut self, names: &[Field], texts: &[Text], by: &str) {
        let names = texts_among(names);
        let is_one = names.len() == 1;
        for name in &names {
            self.subscript_in_name(name);
            match literal(name).map(|name| name.split('[').next().unwrap_or_default()) {
                Some(name) if is_one => texts.iter().for_each(|text| self.assign(name, text.clone())),
                // Which of them gets it is not known.
                Some(name) => {
                    self.perhaps(|flow| texts.iter().for_each(|text| flow.assign(name, text.clone())));
                }
                None => {
                    let why = format!("`{by}` gives it to a variable whose name is not known");
                    self.find_unclear(holes_of(texts.iter().flatten()), &why);
                }
            }
        }
    }

    /// `shift`, which takes words from the front of the arguments.
    fn shift(&mut self, words: &[Word]) {
        let is_certain = self.loops == 0 && self.assigned.is_certain_in_function();
        let literals: Vec<Option<&str>> = words.iter().map(Word::literal).collect();
        let count = match literals.as_slice() {
            [Some("shift")] => Some(1),
            [Some("shift"), Some(count)] => count.parse().ok(),
            _ => None,
        };
        let Some(arguments) = self.arguments.last_mut() else { return };
        let is_certain = is_certain && arguments.depth == self.depth;
        if !count.is_some_and(|count| is_certain && arguments.shift(count)) {
            self.has_grown |= arguments.shift_anywhere() && self.depth == 0;
        }
    }

    /// `set -- …`, which gives the script new arguments.
    fn set(&mut self, words: &[Word]) {
        let mut at = 1;
        let mut is_ended = false;
        while let Some(option) = words.get(at).and_then(Word::literal) {
            match option {
                "--" | "-" => {
                    at += 1;
                    is_ended = true;
                    break;
                }
                "-o" | "+o" => {
                    self.exports_all |= words.get(at + 1).and_then(Word::literal) == Some("allexport");
                    at += 2;
                }
                _ if option.starts_with(['-', '+']) => {
                    self.exports_all |= option.starts_with('-') && option.contains('a');
                    at += 1;
                }
                _ => break,
            }
        }
        let Some(new) = words.get(at..).filter(|new| is_ended || !new.is_empty()) else { return };
        let is_all = |word: &Word| matches!(word.parts.as_slice(), [Part::Expansion(own)] if own.name == "@" && own.operator.is_empty());
        let appends = new.first().is_some_and(is_all);
        let mut fields: Vec<Field> = Vec::new();
        for word in &new[usize::from(appends)..] {
            // In the middle, they stand for any number of words.
            if is_all(word) {
                fields.push(Field::any_of(super::expand::bounded(texts_among(&self.all_arguments()))));
            } else {
                fields.extend(self.fields(word));
            }
        }
        self.find_all(holes_among(&fields), &Reason::Shell("an argument of the script"));
        if !is_ended {
            // The first word may be read as an option.
            for text in texts_among(fields.first()) {
                if let Some(Atom::Value { hole, cut }) = text.first()
                    && self.is_text(*hole)
                {
                    let guard = Guard { rule: Rule::Option { signs: "-+" }, cut: *cut, program: "set".into() };
                    self.find_guarded(*hole, Reason::Shell("an argument of the script"), Some(guard));
                }
            }
        }
        self.spend(value::size_of(&fields));
        self.assigned.add("@");
        let is_outermost = self.depth == 0;
        let Some(arguments) = self.arguments.last_mut() else { return };
        if arguments.left.take().is_some() {
            self.has_grown |= arguments.shift_anywhere() && is_outermost;
        }
        let lists = if appends { &mut arguments.appended } else { &mut arguments.lists };
        if lists.contains(&fields) {
            return;
        }
        if lists.len() > 64 {
            return self.lose("the arguments in it are set in too many ways");
        }
        lists.push(fields);
        self.has_grown |= is_outermost;
    }

    fn read(&mut self, rest: &[Field], splits_otherwise: bool) {
        let mut names = Vec::new();
        let mut array = None;
        let mut is_raw = false;
        // What ends a line, if it is another character; nothing when it is not known where one ends.
        let mut ends = Some(Cut::LINE);
        let mut end = Some(Some('\n'));
        let mut at = 0;
        while let Some(field) = rest.get(at) {
            at += 1;
            if let Some(options) = word_literal(field).and_then(|text| text.strip_prefix('-')) {
                is_raw |= options.contains('r');
                if options.contains(['n', 'N', 'i', 'k', 'd']) {
                    let delimiter = rest.get(at).and_then(word_literal).filter(|_| options.ends_with('d'));
                    ends = delimiter.and_then(|text| match text.chars().next() {
                        // Values have no NUL.
                        None => Some(Cut::BEGINNING),
                        Some(first) => Cut::behind(first),
                    });
                    end = delimiter.map(|text| text.chars().next());
                }
                // The last letter may take the next word.
                match options.chars().last() {
                    Some('a') => {
                        array = rest.get(at).cloned();
                        at += 1;
                    }
                    // In zsh, it reads what a coprocess prints.
                    Some('p') if self.shell == Shell::Zsh => {}
                    Some(last @ ('d' | 'i' | 'n' | 'N' | 'p' | 't' | 'u')) => {
                        // zsh calculates how long it waits.
                        if last == 'u' {
                            end = None;
                        }
                        if last == 't' && self.shell == Shell::Zsh {
                            texts_among(rest.get(at)).iter().for_each(|text| self.calculated_text(text));
                        }
                        at += 1;
                    }
                    _ => {}
                }
            } else {
                names.push(field.clone());
            }
        }
        if names.is_empty() {
            names.push(Field::Word(vec![Atom::text("REPLY")]));
        }
        let is_plain = |records: &Vec<Text>| {
            is_raw || !records.iter().flatten().any(|atom| matches!(atom, Atom::Text(text) if text.contains('\\')))
        };
        if let Some(records) = end.and_then(|end| self.literal_records(end)).filter(is_plain) {
            let separator = self.own_separator.filter(|_| splits_otherwise);
            let is_whole = separator.is_none() && (splits_otherwise || self.splits_otherwise);
            return self.read_records(&records, &names, array.as_ref(), separator, is_whole);
        }
        // `IFS=, read …`: parts between commas, without anything taken from their beginnings.
        let how = match self.own_separator.filter(|_| splits_otherwise) {
            Some(separator) => Cut::behind(separator),
            None => Some(Cut::WORD).filter(|_| !splits_otherwise && !self.splits_otherwise),
        };
        let pieces = self.pieces_of_input(how.zip(ends).and_then(|(how, ends)| how.and(ends)));
        if !is_raw {
            self.guard_escapes(&pieces, "read", "text that `read` reads");
        }
        match array {
            Some(array) => self.assign_list_each(&array, &pieces, "read"),
            None => names.iter().for_each(|name| self.assign_each(std::slice::from_ref(name), &pieces, "read")),
        }
    }

    /// Assigns a list of these texts to each variable that a word may name.
    fn assign_list_each(&mut self, name: &Field, texts: &[Text], by: &str) {
        for name in texts_among([name]) {
            match literal(&name) {
                Some(name) => self.assign_fields(name, vec![Field::any_of(texts.to_vec())]),
                None => {
                    let why = format!("`{by}` gives it to a variable whose name is not known");
                    self.find_unclear(holes_of(texts.iter().flatten()), &why);
                }
            }
        }
    }

    /// The lines of what is read, or all of it where nothing `ends` one, when the author wrote them all and they are few.
    fn literal_records(&self, ends: Option<char>) -> Option<Vec<Text>> {
        let Input::Texts(texts) = &self.input else { return None };
        let mut records = Vec::new();
        for text in texts {
            let text = literal(text)?;
            match ends {
                Some(end) => records.extend(text.trim_end_matches(end).split(end)),
                None => records.push(text),
            }
        }
        (records.len() <= super::expand::MOST_TEXTS)
            .then(|| records.iter().map(|record| vec![Atom::text(record)]).collect())
    }

    /// `read` gives the fields of a record to variables: each its own, and the rest to the last.
    fn read_records(
        &mut self,
        records: &[Text],
        names: &[Field],
        array: Option<&Field>,
        separator: Option<char>,
        is_whole: bool,
    ) {
        let is_between = |c: char| separator.map_or(c.is_ascii_whitespace(), |separator| c == separator);
        let mut fields: Vec<Vec<Text>> = vec![Vec::new(); names.len()];
        let mut all = Vec::new();
        for record in records.iter().filter_map(|record| literal(record)) {
            let mut rest = if is_whole { record } else { record.trim_matches(|c: char| c.is_ascii_whitespace()) };
            let divided: Vec<&str> = if is_whole {
                vec![record]
            } else {
                rest.split(is_between).filter(|field| separator.is_some() || !field.is_empty()).collect()
            };
            all.extend(divided.iter().map(|field| vec![Atom::text(field)]));
            for (at, field) in fields.iter_mut().enumerate() {
                let cut = rest.split_once(is_between).filter(|_| !is_whole && at + 1 < names.len());
                let (own, others) = cut.unwrap_or((rest, ""));
                rest = if separator.is_none() { others.trim_start() } else { others };
                field.push(if own.is_empty() { Text::new() } else { vec![Atom::text(own)] });
            }
        }
        if let Some(array) = array {
            return self.assign_list_each(array, &all, "read");
        }
        for (name, mut texts) in names.iter().zip(fields) {
            value::dedup(&mut texts);
            self.assign_each(std::slice::from_ref(name), &texts, "read");
        }
    }

    /// A line or a word of what is read.
    pub(super) fn pieces_of_input(&mut self, how: Option<Cut>) -> Vec<Text> {
        if let Input::Texts(texts) = &self.input
            && !self.input.holes().is_empty()
            && let Some(how) = how
        {
            let pieces: Option<Vec<Text>> = texts
                .iter()
                .map(|text| match text.as_slice() {
                    [Atom::Value { hole, cut }] | [Atom::Value { hole, cut }, Atom::Text(_)] => {
                        Some(vec![Atom::Value { hole: *hole, cut: cut.and(how)?.one() }])
                    }
                    _ => None,
                })
                .collect();
            if let Some(mut pieces) = pieces {
                // What the author wrote behind the value may be a line of its own.
                pieces.push(vec![Atom::Unknown(super::Tag::Somewhere)]);
                return pieces;
            }
        }
        vec![vec![self.input.part()]]
    }

    /// `[ … ]`, in which a value may become an operator when another follows it.
    fn tests(&mut self, rest: &[Field]) {
        let has_value = |text: &Text| text.iter().any(|atom| !atom.holes().is_empty());
        let may_be_operator = |text: &Text| text.first().is_some_and(Atom::is_of_value);
        // What may be no word lets its neighbours meet.
        let follow = rest.iter().enumerate().flat_map(|(at, first)| {
            let behind = &rest[at + 1..];
            let count = behind.iter().take_while(|field| field.may_be_none()).count() + 1;
            behind.iter().take(count).map(move |second| (first, second))
        });
        let within = rest.iter().filter(|field| field.may_be_several()).map(|field| (field, field));
        for (first, second) in follow.chain(within) {
            let (first, second) = (texts_among([first]), texts_among([second]));
            let is_name = first.iter().any(|text| matches!(literal(text), Some("-v" | "-R")));
            let is_operator = first.iter().any(may_be_operator);
            for text in &second {
                if is_name {
                    self.subscript_in_name(text);
                    let holes: Vec<usize> = holes_of(text).into_iter().filter(|hole| self.is_text(*hole)).collect();
                    self.find_all(holes, &Reason::Name { by: "[ -v".into() });
                }
                if is_operator && has_value(text) {
                    self.calculates_with(text);
                }
            }
        }
        let texts = texts_among(rest);
        let compares = |text: &Text| matches!(literal(text), Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"));
        // zsh calculates where bash wants a number.
        if self.shell == Shell::Zsh && texts.iter().any(compares) {
            texts.iter().for_each(|text| self.calculated_text(text));
        }
    }

    /// What `echo` prints where it reads escapes in all that it is given: values are the same without a backslash.
    fn unescaped(&mut self, printed: Input) -> Input {
        let has_escape = |text: &Text| text.iter().any(|atom| matches!(atom, Atom::Text(text) if text.contains('\\')));
        match printed {
            Input::Texts(texts) if !texts.iter().any(has_escape) => {
                self.guard_escapes(&texts, "echo", "text that `echo` prints for other commands");
                Input::Texts(texts)
            }
            printed => Input::made("", &printed.holes()),
        }
    }

    /// Values in these texts stay what they are without a backslash.
    pub(super) fn guard_escapes(&mut self, texts: &[Text], program: &str, noun: &'static str) {
        let holes = texts.iter().flat_map(holes_of);
        self.guard_texts(holes, &Rule::Without { characters: "\\" }, program, noun);
    }

    fn printf(&mut self, rest: &[Field]) -> Input {
        let holes = holes_among(rest);
        let (into, rest) = match rest {
            [Field::Word(option), name, rest @ ..] if literal(option) == Some("-v") => (Some(name.clone()), rest),
            _ => (None, rest),
        };
        let rest = match rest {
            [Field::Word(dashes), rest @ ..] if literal(dashes) == Some("--") => rest,
            rest => rest,
        };
        let texts = match rest {
            [format, text] if word_is(format, |format| matches!(format, "%s" | "%s\\n")) => {
                in_one(std::slice::from_ref(text)).filter(|_| !text.may_be_several())
            }
            [format, rest @ ..] => word_literal(format).and_then(|format| printed_by_format(format, rest)),
            _ => None,
        };
        // The format is printed as it is, up to its first escape.
        let format = rest.first().and_then(word_literal).unwrap_or_default();
        // Its numbers are arithmetic.
        if self.shell == Shell::Zsh && !prints_texts(format) {
            texts_among(rest).iter().for_each(|text| self.calculated_text(text));
        }
        let before = format.split(['%', '\\']).next().unwrap_or_default();
        // `%b` is text with escapes; so may be what is printed by a format that is not the author's alone.
        if texts.is_none() && (format.is_empty() || format.contains("%b")) {
            self.respells(holes.iter().copied());
        }
        match into {
            Some(name) => {
                let texts = texts.unwrap_or_else(|| vec![vec![made_of(&holes)]]);
                self.assign_each(&[name], &texts, "printf -v");
                Input::Clean
            }
            None => texts.map_or_else(|| Input::made(before, &holes), Input::Texts),
        }
    }
}

/// Cuts a text at the first of a character that the author wrote, in two.
fn split_at(text: &Text, sign: char) -> Option<(Text, Text)> {
    let at = text.iter().position(|atom| matches!(atom, Atom::Text(text) if text.contains(sign)))?;
    let Atom::Text(cut) = &text[at] else { return None };
    let (before, behind) = cut.split_once(sign)?;
    let (mut first, mut second) = (text[..at].to_vec(), Text::new());
    push(&mut first, Atom::text(before));
    std::iter::once(&Atom::text(behind)).chain(&text[at + 1..]).for_each(|atom| push(&mut second, atom.clone()));
    Some((first, second))
}

/// What `echo` prints, and whether escapes act in it.
fn printed_by_echo(rest: &[Field]) -> (Input, bool) {
    let mut rest = rest;
    while let Some((first, others)) = rest.split_first() {
        let letters = word_literal(first).and_then(|option| option.strip_prefix('-')).unwrap_or_default();
        match letters {
            letters if letters.is_empty() || letters.contains(|letter| !"neE".contains(letter)) => break,
            // Escapes act, so that the values are no longer themselves.
            letters if letters.contains('e') => return (Input::made("", &holes_among(others)), true),
            _ => rest = others,
        }
    }
    (in_one(rest).map_or_else(|| Input::made("", &holes_among(rest)), Input::Texts), false)
}

/// What `printf` prints by a format of text, `%s` and the usual escapes, when it is known how many words there are.
fn printed_by_format(format: &str, words: &[Field]) -> Option<Vec<Text>> {
    let words: Option<Vec<&Text>> =
        words.iter().map(|field| if let Field::Word(word) = field { Some(word) } else { None }).collect();
    let mut words = words?.into_iter();
    let mut printed = Text::new();
    loop {
        let left = words.len();
        let mut plain = String::new();
        let mut characters = format.chars();
        while let Some(c) = characters.next() {
            match (c, if matches!(c, '%' | '\\') { characters.next() } else { None }) {
                ('%', Some('s')) => {
                    push(&mut printed, Atom::text(&std::mem::take(&mut plain)));
                    words.next().into_iter().flatten().for_each(|atom| push(&mut printed, atom.clone()));
                }
                ('%', Some('%')) => plain.push('%'),
                ('\\', Some('n')) => plain.push('\n'),
                ('\\', Some('t')) => plain.push('\t'),
                ('\\', Some('r')) => plain.push('\r'),
                ('\\', Some('\\')) => plain.push('\\'),
                ('%' | '\\', _) => return None,
                (c, _) => plain.push(c),
            }
        }
        push(&mut printed, Atom::text(&plain));
        // The format is used again for the words that are left.
        if words.len() == 0 {
            return Some(vec![printed]);
        }
        if words.len() == left {
            return None;
        }
    }
}

/// Whether a format of `printf` prints what it is given as text.
fn prints_texts(format: &str) -> bool {
    let mut rest = format.split('%').skip(1);
    !format.is_empty() && rest.all(|behind| behind.is_empty() || behind.starts_with(['s', 'b', 'q', 'c']))
}

/// Words joined by blanks, in each way that they may be, when it is known which there are.
fn in_one(fields: &[Field]) -> Option<Vec<Text>> {
    let mut texts = vec![(Text::new(), false)];
    let add = |(text, is_begun): &mut (Text, bool), word: &Text| {
        if std::mem::replace(is_begun, true) {
            push(text, Atom::text(" "));
        }
        word.iter().for_each(|atom| push(text, atom.clone()));
    };
    for field in fields {
        match field {
            Field::Word(word) => texts.iter_mut().for_each(|text| add(text, word)),
            Field::Choice(alternatives) if texts.len() * alternatives.len() <= MOST_PRINTED => {
                let mut all = Vec::with_capacity(texts.len() * alternatives.len());
                for text in &texts {
                    for words in alternatives.iter() {
                        let mut text = text.clone();
                        for word in words {
                            let Field::Word(word) = word else { return None };
                            add(&mut text, word);
                        }
                        all.push(text);
                    }
                }
                texts = all;
            }
            _ => return None,
        }
    }
    Some(texts.into_iter().map(|(text, _)| text).collect())
}

fn word_literal(field: &Field) -> Option<&str> {
    match field {
        Field::Word(text) => literal(text),
        _ => None,
    }
}

fn word_is(field: &Field, is: impl Fn(&str) -> bool) -> bool {
    word_literal(field).is_some_and(is)
}

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a text can be the name of a program that is looked for.
fn is_program_name(text: &str) -> bool {
    !text.starts_with('-') && !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c))
}
