//! Simple commands: which programs run, and what each of their words is to them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::Arc;

use super::graph::Graph;
use super::places::{Owned, RESPELT};
use super::running::Running;
use super::value::{Atom, Field, Tag, Text, holes_among, holes_of, literal};
use super::xargs::Xargs;
use super::{
    Arguments, DEEPEST, Flow, Input, MOST_PASSES, MOST_READINGS, Reason, Variable, builtin, filter, memory, pasted,
    value,
};
use crate::piece::Shell;
use crate::programs::{self, Input as Reads, Known, Named, State};
use crate::script::{Part, Word};
use crate::verdict::Rule;

impl Flow<'_> {
    pub(super) fn simple(&mut self, assignments: &[Word], words: &[Word]) -> Input {
        // Its words are expanded before it gets its environment.
        let declares = self.shell != Shell::Sh && words.first().is_some_and(is_declaration);
        let expand = |word| if declares && stays_one(word) { self.one_field(word) } else { self.fields(word) };
        let fields: Vec<Field> = words.iter().flat_map(expand).collect();
        if words.is_empty() {
            assignments.iter().for_each(|word| self.assignment(word, false));
            // `$(< file)` prints the file.
            let prints = self.is_input_its_own && assignments.is_empty();
            return if prints { self.input.clone() } else { Input::Clean };
        }
        self.spend(value::size_of(&fields));
        let splits_otherwise = assignments.iter().any(is_other_ifs);
        if assignments.is_empty() {
            return self.run(fields, words, splits_otherwise);
        }
        let passed = self.assigned.passed();
        let separator = assignments.iter().rfind(|word| is_other_ifs(word)).and_then(own_separator);
        let outer_separator = std::mem::replace(&mut self.own_separator, separator);
        let run = |flow: &mut Self| {
            for word in assignments {
                // It counts for that command alone; `read` gets `splits_otherwise` for it.
                if !is_other_ifs(word) {
                    flow.assignment(word, true);
                }
                if let Some(name) = assigned_name(word) {
                    flow.assigned.pass(name);
                }
            }
            flow.run(fields, words, splits_otherwise)
        };
        let printed = self.perhaps(run).0;
        self.own_separator = outer_separator;
        self.assigned.passed_back(passed);
        printed
    }

    /// Runs a command for each name that it may have.
    fn run(&mut self, fields: Vec<Field>, words: &[Word], splits_otherwise: bool) -> Input {
        let mut printed = Input::Clean;
        // `$sudo ./run.sh`: with what the environment says or without it, but never both.
        let is_one = fields.first().is_some_and(|field| self.is_of_environment(field));
        let whole = is_one.then(|| identity(&fields));
        for fields in heads(fields) {
            let outer = std::mem::replace(&mut self.whole, whole);
            printed = printed.or(self.run_as(&fields, words, splits_otherwise));
            self.whole = outer;
        }
        printed
    }

    /// Runs a command by one of its names.
    fn run_as(&mut self, fields: &[Field], words: &[Word], splits_otherwise: bool) -> Input {
        if matches!(fields.first(), Some(Field::Word(text)) if value::is_absent(text)) {
            return self.run_absent(&fields[1..], words, splits_otherwise);
        }
        let name = match fields.first() {
            Some(Field::Word(text)) => literal(text).map(str::to_owned),
            _ => None,
        };
        // A variable that is empty leaves an option alone, and no program has the name of one.
        let is_option =
            |name: &str| name.is_empty() || name.starts_with('-') && !(name == "-" && self.shell == Shell::Zsh);
        if self.is_shell && name.as_deref().is_some_and(is_option) {
            return Input::Clean;
        }
        if let Some(name) = name.as_deref().filter(|name| self.is_shell && self.renamed.contains(*name)) {
            let why = format!("the script gives `{name}` another meaning, which is not followed");
            let holes = [holes_among(fields), self.input.holes(), self.in_environment.iter().copied().collect()];
            self.find_unclear(holes.concat(), &why);
        }
        let one = match name.as_deref() {
            Some(name) => self.builtin(name, &without_absent(&fields[1..]), words, splits_otherwise),
            None => None,
        };
        one.unwrap_or_else(|| self.programs_of(fields))
    }

    /// The script says what the name of a command means.
    pub(super) fn renames(&mut self, name: Option<&str>) {
        match name {
            Some(name) => self.has_grown |= self.renamed.insert(name.into()),
            None => self.lose("a name in it, which is not plain, gets the meaning of a command"),
        }
    }

    /// Whether a word is a variable that the script never sets.
    fn is_of_environment(&self, field: &Field) -> bool {
        match field {
            Field::Word(text) => match text.as_slice() {
                [Atom::Unknown(Tag::Variable(name))] => !self.variables.contains_key(&**name),
                _ => false,
            },
            Field::Choice(ways) | Field::Many(ways) => ways.iter().flatten().all(|field| self.is_of_environment(field)),
        }
    }

    /// Runs what is left of a command whose program was not found: `$docker run …`, where the variable is empty. The next word is
    /// the program then. When there is none that is known by this name, it is what the author wrote for the program that is missing.
    fn run_absent(&mut self, fields: &[Field], words: &[Word], splits_otherwise: bool) -> Input {
        let mut printed = Input::Clean;
        for mut fields in heads(fields.to_vec()) {
            let name = match fields.first() {
                Some(Field::Word(text)) => literal(text),
                _ => None,
            };
            let is_meant = name
                .is_some_and(|name| !self.functions.contains_key(name) && programs::is_unknown(name, self.statements));
            if is_meant && let Some(first) = fields.first_mut() {
                *first = Field::Word(vec![Atom::Unknown(Tag::Missing)]);
            }
            printed = printed.or(self.run(fields, words, splits_otherwise));
        }
        printed
    }

    /// Calls a function of the script.
    pub(super) fn call(&mut self, name: &str, arguments: Vec<Field>) -> Option<Input> {
        let (name, body) =
            self.functions.get_key_value(name).map(|(name, body)| (Arc::clone(name), Arc::clone(body)))?;
        if self.depth >= DEEPEST {
            self.lose("its functions call each other too deeply");
            return Some(Input::Clean);
        }
        self.called.insert(name);
        self.depth += 1;
        let mut printed = Input::Clean;
        self.arguments.push(Arguments { lists: vec![arguments], depth: self.depth, ..Arguments::default() });
        let loops = std::mem::take(&mut self.loops);
        // The body may change its own arguments.
        for _ in 0..MOST_PASSES {
            if let Some(arguments) = self.arguments.last_mut() {
                arguments.left = None;
            }
            let before = self.arguments.last().cloned();
            let input = self.input.clone();
            self.assigned.begin_call(true);
            printed = printed.or(self.reading(input, false, |flow| flow.command(&body)));
            self.assigned.end_call();
            let after = self.arguments.last();
            let is_same = before.as_ref().zip(after).is_none_or(|(before, after)| {
                (before.lists.len(), before.appended.len(), before.shifted)
                    == (after.lists.len(), after.appended.len(), after.shifted)
            });
            if is_same {
                break;
            }
        }
        self.arguments.pop();
        self.loops = loops;
        self.depth -= 1;
        Some(printed)
    }

    /// An interactive shell runs the file that `ENV` names, here and in a container. Source: POSIX.1-2024, sh, "Environment Variables".
    fn guard_start_file(&mut self, fields: &[Field]) {
        let words =
            || fields.iter().filter_map(|field| if let Field::Word(text) = field { literal(text) } else { None });
        let is_option = |word: &str| {
            let letters =
                word.strip_prefix('-').filter(|letters| letters.bytes().all(|byte| byte.is_ascii_alphabetic()));
            word == "--interactive" || letters.is_some_and(|letters| letters.contains('i'))
        };
        if !words().any(is_option) || !words().any(programs::runs_shell_code) {
            return;
        }
        let mut holes: Vec<usize> = self.in_variables.get("ENV").into_iter().flatten().copied().collect();
        fields.iter().for_each(|field| {
            field.each(&mut |text| {
                if value::beginning(text).starts_with("ENV=") {
                    holes.extend(holes_of(text));
                }
            });
        });
        self.find_by_kind(holes, &Reason::Environment { name: "ENV".into() }, "a variable");
    }

    /// Reads the words of a command as its program does; tells what it may print.
    pub(super) fn programs_of(&mut self, fields: &[Field]) -> Input {
        if self.watches()
            && let Some(printed) = self.printed_directory(fields)
        {
            return printed;
        }
        let fields = &*with_implied_name(fields);
        self.copies(fields);
        let holes = holes_among(fields);
        let mut in_files = self.holes_in_files(fields);
        in_files.extend(self.contents_of_words(fields));
        for field in fields {
            field.each(&mut |text| in_files.extend(self.told_in_file(text)));
        }
        let words = [holes.clone(), self.input.holes()].concat();
        let id = self.whole.unwrap_or_else(|| identity(fields));
        let repeated = repeated(fields);
        self.guard_start_file(fields);
        let reads_filters = reads_filters(fields);
        let arguments = holes.clone();
        let running = Running { id, words, repeated, arguments, files: in_files, reads_filters, ..Running::default() };
        let outer = std::mem::replace(&mut self.running, running);
        let outer_input = self.input.clone();
        if self.concerns_values(fields, &holes) {
            self.prints_input = false;
            if self.read_words(fields) {
                // What it reads becomes arguments of the command that it starts.
                let with_arguments = self.with_arguments(fields);
                let named: Vec<usize> = with_arguments.iter().flat_map(|fields| self.holes_in_files(fields)).collect();
                self.running.files.extend(named);
                self.reading(Input::Clean, false, |flow| {
                    for fields in &with_arguments {
                        flow.read_words(fields);
                    }
                });
            }
            self.note_names_by_code(fields);
            self.writes_what_it_reads();
        }
        self.input = outer_input;
        let running = std::mem::replace(&mut self.running, outer);
        // What it reads, it may print as it is.
        let read = if self.is_input_its_own || self.prints_input { self.input.clone() } else { Input::Clean };
        let read = match read {
            Input::Texts(texts) => match filter::filtered(fields, &texts) {
                Some(parts) => {
                    if filter::is_xargs_alone(fields) {
                        self.guard_input_of_xargs(parts.iter().flat_map(holes_of));
                    }
                    Input::Texts(parts)
                }
                None => {
                    let texts = Input::Texts(texts);
                    let holes = if filter::prints_digits(fields) { Vec::new() } else { texts.holes() };
                    if !filter::keeps_characters(fields) {
                        self.respells(holes.iter().copied());
                    }
                    // A filter of what a program printed prints what a program does.
                    if texts.has_values() { Input::made("", &holes) } else { Input::printed(&holes) }
                }
            },
            read => read,
        };
        let holes = match self.output_of(fields).filter(|_| running.is_filter != Some(true)) {
            Some(output) => [holes, vec![output]].concat(),
            None => holes,
        };
        let printed = match prints_its_words(fields) {
            Some(before) => Input::made(before, &holes),
            None => Input::printed(&holes),
        };
        let of_files = match fields.first() {
            // The name of a file is not what stands in it.
            Some(Field::Word(text)) if literal(text).is_some_and(|name| ECHOING.contains(&name)) => Input::Clean,
            _ => Input::made("", &running.files).and(Input::printed(&running.outputs)),
        };
        let all = read
            .and(of_files)
            .and(printed)
            .and(Input::made("", &running.environment))
            .and(Input::printed(&running.taken));
        if self.captured + self.redirected == 0 || !self.has_memory() && !running.shows {
            return all;
        }
        let told = self.told(&running.programs, running.shows);
        self.spend(told.len() * memory::COST);
        match all {
            // Each of the names may be what is taken.
            Input::Clean if running.lists && told.is_empty() => self.listed_names(&[], &[]),
            Input::Printed(holes) if running.lists && told.is_empty() => self.listed_names(&holes, &running.arguments),
            all => all.and(Input::printed(&[told, self.holes_in_names(running.lists)].concat())),
        }
    }

    /// Whether reading a command can tell anything: values reach it, or it may run code or a file that has to be followed.
    fn concerns_values(&self, fields: &[Field], holes: &[usize]) -> bool {
        if self.watches() || self.has_memory() {
            return true;
        }
        let has_open = self.input != Input::Clean || !self.input_files.is_empty() || !self.held.is_empty();
        let reaches = !holes.is_empty() || has_open || !self.in_environment.is_empty();
        let is_known_to_files = !self.written.is_empty() || !self.touched.is_empty();
        let mut may_run =
            is_known_to_files || self.has_unpacked() || !self.in_environment.is_empty() || self.tells && reaches;
        let is_taken = self.captured + self.redirected > 0;
        let runs_values = |word: &str| {
            programs::runs_shell_code(word) || is_make(word) || is_taken && programs::shows_processes(word)
        };
        for field in fields {
            field.each(&mut |text| may_run |= literal(text).is_some_and(runs_values));
        }
        may_run
    }

    /// Tells what a program does when no word comes any more.
    fn end_of(&mut self, state: &State, fields: &[Field]) {
        self.prints_input |= state.is_filter();
        self.running.is_filter = Some(self.running.is_filter.unwrap_or(true) && state.entry().is_filter);
        self.note_run(state, fields);
        self.note_memory(state);
        self.loads(state);
        if is_make(state.label()) {
            self.includes();
            self.input_for_shell(state.label());
        }
        self.searches(state);
        self.writes_copies(state, fields);
        self.writes_unnamed(state);
        if std::mem::take(&mut self.running.runs_what_it_reads) {
            let read = [&self.running.words, &self.running.taken, &self.running.files, &self.running.outputs];
            let holes: Vec<usize> = read.into_iter().flatten().copied().chain(self.input.holes()).collect();
            self.find_unclear(holes, &format!("the code of `{}` may run it", state.label()));
        }
        self.unpacks(state);
        self.pastes(state);
        self.input_of(state);
    }

    /// Tells what the words of a command are to its programs; and whether one makes arguments of what it reads, for another.
    fn read_words(&mut self, fields: &[Field]) -> bool {
        let mut makes_arguments = false;
        self.unpacked.begin_command();
        self.running.operands.clear();
        self.pasted = pasted::Pasted::default();
        let graph = Graph::of(fields);
        let mut queue = Queue { reached: Vec::new(), at: vec![Vec::new(); graph.len()] };
        queue.add(Graph::START, Arc::new(Reading::Name(None)), Within { has_input: true, part: None });
        // What `xargs` starts has no input.
        let mut other_input = Input::Clean;
        let mut has_input = true;
        let id = self.running.id;
        let mut at = 0;
        while let Some(Reached { node, reading, within }) = queue.reached.get(at).cloned() {
            at += 1;
            if std::mem::replace(&mut has_input, within.has_input) != within.has_input {
                std::mem::swap(&mut self.input, &mut other_input);
            }
            self.running.id = within.part.map_or(id, |part| hash_of(&(id, part)));
            if at > MOST_READINGS {
                self.lose("a command in it can be read in too many ways");
                break;
            }
            let edges = graph.edges(node);
            self.spend(1 + edges.len());
            if self.lost.is_some() {
                break;
            }
            if graph.is_end(node)
                && let Reading::Words(state) = &*reading
            {
                self.end_of(state, fields);
            }
            for &(word, to) in edges {
                let Some(word) = word else {
                    queue.add(to, Arc::clone(&reading), within);
                    continue;
                };
                let is_absent = value::is_absent(word);
                match &*reading {
                    // The program was not found, and the next word is one, or is what was meant for it.
                    Reading::Name(outer) | Reading::Missing(outer) if is_absent => {
                        queue.add(to, Arc::new(Reading::Missing(outer.clone())), within);
                    }
                    Reading::Words(state) if is_absent => {
                        let step = state.step(word, &mut |_| {});
                        if !step.next.is_empty() || step.command.is_none() {
                            queue.add(to, Arc::clone(&reading), within);
                        }
                        if let Some(outer) = step.command {
                            let within = within.command(node, outer.as_deref());
                            queue.add(node, Arc::new(Reading::Name(outer)), within);
                        }
                    }
                    Reading::Missing(outer) => {
                        // An option is one of the program around it.
                        let is_meant = literal(word)
                            .is_some_and(|name| !name.starts_with('-') && programs::is_unknown(name, self.statements));
                        let meant = if is_meant { &vec![Atom::Unknown(Tag::Missing)] } else { word };
                        for state in self.name(meant, outer.as_ref(), (false, node != Graph::START)) {
                            queue.add(to, Arc::new(Reading::Words(state)), within);
                        }
                    }
                    Reading::Name(outer) => {
                        if self.authors_any() && literal(word).is_none_or(|name| name.contains('/')) {
                            self.runs_script(word, &graph.rest(to), None);
                        }
                        for state in self.name(word, outer.as_ref(), (false, node != Graph::START)) {
                            queue.add(to, Arc::new(Reading::Words(state)), within);
                        }
                    }
                    Reading::Module(outer) => {
                        for state in self.name(word, outer.as_ref(), (true, true)) {
                            queue.add(to, Arc::new(Reading::Words(state)), within);
                        }
                    }
                    Reading::Words(state) => {
                        makes_arguments |= self.word_of(state, word, (node, to), within, fields, (&graph, &mut queue));
                    }
                }
            }
        }
        self.running.id = id;
        if !has_input {
            self.input = other_input;
        }
        makes_arguments && (self.watches() || !self.input.holes().is_empty() || self.knows_files())
    }

    /// Reads a word of a program, which leads from one node to another. Tells whether it names what `xargs` starts.
    fn word_of(
        &mut self,
        state: &State,
        word: &Text,
        (node, to): (usize, usize),
        within: Within,
        fields: &[Field],
        (graph, queue): (&Graph<'_>, &mut Queue),
    ) -> bool {
        let mut parts = Vec::new();
        let copies = self.takes_over(state);
        let step = state.step(word, &mut |seen| parts.extend(Owned::of(&seen, copies)));
        for part in parts {
            self.part_of(state, part, graph, to);
        }
        if step.next.iter().any(|next| state.ends_before(next)) {
            self.end_of(state, fields);
        }
        if step.command.is_some() {
            self.note_run(state, fields);
            self.note_container(state, word);
        }
        let is_xargs = step.command.is_some() && state.entry().input == Reads::Arguments;
        if is_xargs {
            self.input_for_shell(state.label());
        }
        let takes_input = is_xargs && Xargs::takes_input(fields);
        let within = Within { has_input: within.has_input && !takes_input, ..within };
        let named = step.named.map(|named| self.named(&named, state)).unwrap_or_default();
        for next in step.next.into_iter().chain(named) {
            let part = within.part.filter(|_| !state.ends_before(&next));
            queue.add(to, Arc::new(Reading::Words(next)), Within { part, ..within });
        }
        // The word is read again, as a program's name or as a word of another program.
        let module = step.module.then(|| Reading::Module(state.outer().cloned()));
        for reading in step.again.map(Reading::Words).into_iter().chain(module) {
            queue.add(node, Arc::new(reading), within);
        }
        if let Some(outer) = step.command {
            let within = within.command(node, outer.as_deref());
            queue.add(node, Arc::new(Reading::Name(outer)), within);
        }
        is_xargs
    }

    /// Whether words count that hold no values, where they name files; and where they are names of something else.
    fn takes_over(&mut self, state: &State) -> (bool, bool) {
        let copies = !self.running.files.is_empty()
            || !self.running.words.is_empty()
            || self.watches()
            || self.has_unpacked()
            || self.has_memory()
            || self.knows_files();
        (copies, copies && (state.entry().builds || state.entry().unpacks_by_name()))
    }

    /// `make` takes each variable of its environment for one of its own, expands what is in it, and pastes it into recipes.
    pub(super) fn pasted_by_make(&mut self) {
        let exported = self.variables.values().filter(|variable| variable.is_exported).flat_map(Variable::holes);
        let holes: BTreeSet<usize> = exported.chain(self.in_environment.iter().copied()).collect();
        self.find_unclear(holes.intersection(&self.respelt).copied().collect::<Vec<_>>(), RESPELT);
        self.guard_texts(holes, &Rule::Plain, "make", "a variable");
    }

    /// What reads the words behind a name that is part of a word.
    fn named(&mut self, named: &Named, state: &State) -> Vec<State> {
        let (name, is_module) = match named {
            Named::Plugin(name) => {
                let entries = programs::find(name, self.statements).into_iter();
                return entries.map(|entry| State::new(entry, name, state.outer().cloned())).collect();
            }
            Named::Program(name) => (name, false),
            Named::Module(name) => (name, true),
        };
        self.name(&vec![Atom::text(name)], state.outer(), (is_module, false))
    }

    /// Finds what runs by the name of a command, which may be one of a module, and one that another program starts.
    pub(super) fn name(
        &mut self,
        word: &Text,
        outer: Option<&Arc<State>>,
        (is_module, is_inside): (bool, bool),
    ) -> Vec<State> {
        self.note_command(word, is_module, is_inside);
        self.start_descriptor(word);
        if is_inside && literal(word) == Some("{}") {
            self.runs_what_is_found(&"find".into());
        }
        // Without a `/` it is looked for where programs are.
        if literal(word).is_none_or(|name| name.contains('/') || name.contains("{}")) {
            self.runs_file(word);
        } else if self.knows_files() {
            self.find_all(self.written.holes(word), &Reason::Written);
            // The script says where programs are looked for: perhaps among what another program made of a file.
            if self.variables.contains_key("PATH") {
                self.find_all(self.touched.holes(word, self.itself()), &Reason::Written);
            }
        }
        if is_module && let Some(name) = literal(word) {
            let file = name.rsplit('.').next().map(|last| vec![Atom::text(&format!("{last}.py"))]);
            file.iter().for_each(|file| self.runs_file(file));
            let directory = vec![Atom::text(name.split('.').next().unwrap_or(name))];
            self.runs_below(&directory, |_| true);
        }
        if literal(word).is_some_and(is_make) {
            self.pasted_by_make();
        }
        let start = |entries: Vec<Known>, label: &str| {
            entries.into_iter().map(|entry| State::new(entry, label, outer.cloned())).collect()
        };
        // Nothing runs that has no name.
        if literal(word).is_some_and(str::is_empty) {
            return Vec::new();
        }
        if let Some(name) = literal(word) {
            if is_module {
                return start(programs::find_module(name, self.statements), name);
            }
            let base = name.rsplit('/').next().unwrap_or(name);
            self.runs_copy(base, name.contains('/'));
            return start(programs::find(name, self.statements), base);
        }
        self.find_by_kind(holes_of(word), &Reason::Chooses, "the name of a command");
        // `"$DIR/git"` is a git.
        if let Some(Atom::Text(end)) = word.last()
            && let Some((_, base)) = end.rsplit_once('/')
            && !base.is_empty()
        {
            self.runs_copy(base, true);
            return start(programs::find(&format!("./{base}"), self.statements), base);
        }
        let is_interpreter = matches!(word.as_slice(), [Atom::Unknown(Tag::Variable(name) | Tag::Given(name))]
            if matches!(&**name, "SHELL" | "BASH" | "0"));
        let label = match word.as_slice() {
            [Atom::Unknown(Tag::Variable(name) | Tag::Given(name))] => format!("${name}"),
            _ => "the program".to_owned(),
        };
        start(vec![programs::unnamed(is_interpreter)], &label)
    }

    /// Notes that a program starts another one in a container.
    fn note_container(&mut self, state: &State, word: &Text) {
        let starts_in_container =
            matches!(state.entry().input, Reads::Code { language, .. } if language == programs::UNKNOWN_LANGUAGE);
        if let Some(name) = literal(word).filter(|_| starts_in_container) {
            self.in_containers.insert(name.into(), Arc::clone(state.label()));
        }
    }

    /// Nothing is known of this program.
    pub(super) fn unknown_program(&self, program: &Arc<str>) -> Reason {
        Reason::UnknownProgram { program: Arc::clone(program), started_by: self.in_containers.get(program).cloned() }
    }
}

/// Programs that print what their words say, wherever in a command their names stand.
pub(super) const ECHOING: [&str; 8] =
    ["basename", "dirname", "echo", "expr", "print", "printf", "readlink", "realpath"];

/// Whether a command prints what its words say, more or less; behind which text.
fn prints_its_words(fields: &[Field]) -> Option<&'static str> {
    let mut words = Vec::new();
    fields.iter().for_each(|field| field.each(&mut |text| words.extend(literal(text).map(str::to_owned))));
    let name = |word: &str| word.rsplit('/').next().and_then(|name| ECHOING.into_iter().find(|known| *known == name));
    let found = words.iter().find_map(|word| name(word))?;
    let is_first = words.first().is_some_and(|word| name(word) == Some(found));
    let is_absolute = match found {
        "realpath" => !words.iter().any(|word| word.starts_with("--relative")),
        "readlink" => words.iter().any(|word| matches!(word.as_str(), "-f" | "-e" | "-m" | "--canonicalize")),
        _ => false,
    };
    Some(if is_first && is_absolute { "/" } else { "" })
}

/// The values that stand in several words.
fn repeated(fields: &[Field]) -> Vec<usize> {
    let (mut seen, mut repeated) = (BTreeSet::new(), Vec::new());
    for field in fields {
        field.each(&mut |text| {
            let holes: BTreeSet<usize> = holes_of(text).into_iter().collect();
            repeated.extend(holes.into_iter().filter(|hole| !seen.insert(*hole)));
        });
    }
    repeated
}

/// Whether this is the name of a `make`.
pub(super) fn is_make(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("make" | "gmake" | "bmake" | "nmake" | "remake"))
}

/// Tells a command from others.
fn identity(fields: &[Field]) -> u64 {
    hash_of(fields)
}

fn hash_of(what: &(impl Hash + ?Sized)) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(what)
}

/// How far a command has been read, in each way in which it may be.
struct Queue {
    reached: Vec<Reached>,
    /// For each node of its graph, which of them stand there.
    at: Vec<Vec<usize>>,
}

#[derive(Clone)]
struct Reached {
    node: usize,
    reading: Arc<Reading>,
    within: Within,
}

/// Where in a command that starts others a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Within {
    /// What comes next reads the input of the command: no `xargs` did so before.
    has_input: bool,
    /// The commands of `find`, up to `;`, run one after the other: where the one begins in which the word is.
    part: Option<usize>,
}

impl Within {
    /// Where a command begins at this node, which stands among the words of `outer` up to `;`.
    fn command(self, node: usize, outer: Option<&State>) -> Self {
        Self { part: self.part.or_else(|| outer.map(|_| node)), ..self }
    }
}

impl Queue {
    fn add(&mut self, node: usize, reading: Arc<Reading>, within: Within) {
        let new = Reached { node, reading, within };
        let is_new = |known: &Reached| {
            known.within != new.within || !Arc::ptr_eq(&known.reading, &new.reading) && known.reading != new.reading
        };
        if self.at[node].iter().all(|known| is_new(&self.reached[*known])) {
            self.at[node].push(self.reached.len());
            self.reached.push(new);
        }
    }
}

/// What a word is read as.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reading {
    /// The name of a command comes next.
    Name(Option<Arc<State>>),
    /// The same, behind a program that was not found.
    Missing(Option<Arc<State>>),
    /// The name of a module comes next.
    Module(Option<Arc<State>>),
    Words(State),
}

/// Every command that some words may be, each with a word at its front.
pub(super) fn heads(fields: Vec<Field>) -> Vec<Vec<Field>> {
    const MOST: usize = 64;
    let mut queue = vec![fields];
    let mut heads: Vec<Vec<Field>> = Vec::new();
    let mut tried = 0;
    while let Some(fields) = queue.pop() {
        tried += 1;
        if tried > MOST {
            // The graph reads them all the same; only functions and builtins would be missed, and these are few.
            heads.push(fields);
            continue;
        }
        match fields.first() {
            None => {}
            Some(Field::Word(_)) => heads.push(fields),
            Some(Field::Choice(alternatives)) => {
                for alternative in alternatives.iter() {
                    queue.push(alternative.iter().chain(&fields[1..]).cloned().collect());
                }
            }
            Some(Field::Many(alternatives)) => {
                queue.push(fields[1..].to_vec());
                for alternative in alternatives.iter().filter(|alternative| !alternative.is_empty()) {
                    queue.push(alternative.iter().chain(&fields).cloned().collect());
                }
            }
        }
    }
    heads.dedup();
    heads
}

/// Words in which no word stands for a program that was not found.
fn without_absent(fields: &[Field]) -> Vec<Field> {
    let is_absent = |field: &Field| matches!(field, Field::Word(text) if value::is_absent(text));
    let mut left = Vec::with_capacity(fields.len());
    for field in fields {
        match field {
            Field::Word(text) if value::is_absent(text) => {}
            Field::Choice(alternatives) if alternatives.iter().flatten().any(is_absent) => {
                let alternatives = alternatives.iter().map(|fields| without_absent(fields)).collect();
                left.extend(Field::choice(alternatives));
            }
            field => left.push(field.clone()),
        }
    }
    left
}

/// The name of the variable that a word assigns.
fn assigned_name(word: &Word) -> Option<&str> {
    let Some(Part::Text { text, .. }) = word.parts.first() else { return None };
    text.split_once('=').map(|(name, _)| name.trim_end_matches('+'))
}

/// Whether a command begins with a builtin to which bash and zsh hand an assignment as one word, without quotes too.
/// Source: bash(1), "declaration commands"; zshbuiltins(1), "reserved words".
fn is_declaration(word: &Word) -> bool {
    let [Part::Text { text, quoted: false }] = word.parts.as_slice() else { return false };
    declares(text)
}

/// Whether bash and zsh have a builtin of this name that declares variables.
pub(super) fn declares(name: &str) -> bool {
    matches!(name, "declare" | "typeset" | "local" | "export" | "readonly")
}

/// Whether such a builtin takes this word for an assignment of a text.
fn stays_one(word: &Word) -> bool {
    matches!(word.parts.first(), Some(Part::Text { quoted: false, .. }))
        && assigned_name(word).is_some_and(builtin::is_name)
        && !word.parts.iter().any(|part| matches!(part, Part::Array(_)))
}

/// The character to which a word sets `IFS`, when it is one that is no blank.
pub(super) fn own_separator(word: &Word) -> Option<char> {
    let text: Option<String> =
        word.parts.iter().map(|part| if let Part::Text { text, .. } = part { Some(&**text) } else { None }).collect();
    let text = text?;
    let mut characters = text.strip_prefix("IFS=")?.chars();
    let only = characters.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
    characters.next().is_none().then_some(only)
}

/// Whether a word sets `IFS` to something of the author's own.
fn is_other_ifs(word: &Word) -> bool {
    let is_ifs = matches!(word.parts.first(), Some(Part::Text { text, .. }) if text.starts_with("IFS="));
    is_ifs
        && word.literal() != Some("IFS=")
        && !matches!(word.parts.as_slice(), [_, Part::Text { text, .. }] if text.is_empty())
}

/// The words of `fd`, which puts the name of a file behind those of its command where no `{}` stands among them. Source: fd(1), `--exec`.
fn with_implied_name(fields: &[Field]) -> Cow<'_, [Field]> {
    let words = || fields.iter().map(|field| if let Field::Word(text) = field { literal(text) } else { None });
    let is_fd = |word: &str| matches!(word.rsplit('/').next(), Some("fd" | "fdfind"));
    let Some(at) = words().position(|word| word.is_some_and(is_fd)) else { return Cow::Borrowed(fields) };
    let starts = |word: &str| matches!(word, "-x" | "-X" | "--exec" | "--exec-batch");
    let Some(exec) = words().skip(at).position(|word| word.is_some_and(starts)) else { return Cow::Borrowed(fields) };
    let is_named = |text: &Text| {
        text.iter().any(|atom| matches!(atom, Atom::Text(text) if NAMES_OF_FD.iter().any(|name| text.contains(name))))
    };
    let mut has_name = false;
    fields[at + exec..].iter().for_each(|field| field.each(&mut |text| has_name |= is_named(text)));
    if has_name {
        return Cow::Borrowed(fields);
    }
    Cow::Owned(fields.iter().cloned().chain([Field::Word(vec![Atom::text("{}")])]).collect())
}

/// What `fd` puts the name of a file for, or a part of it.
const NAMES_OF_FD: [&str; 5] = ["{}", "{/}", "{//}", "{.}", "{/.}"];

/// Whether ffmpeg may read what an input names as filters or as a script: by its format, which an author wrote or a value is.
fn reads_filters(fields: &[Field]) -> bool {
    let is = |field: &Field, words: &[&str]| matches!(field, Field::Word(text) if literal(text).is_some_and(|word| words.contains(&word)));
    let last_input = fields.iter().rposition(|field| is(field, &["-i"])).unwrap_or(fields.len());
    let is_chosen = |pair: &[Field]| is(&pair[0], &["-f"]) && !holes_among(&pair[1..]).is_empty();
    fields.iter().any(|field| is(field, &["lavfi", "vapoursynth", "avisynth"]))
        || fields[..last_input].windows(2).any(is_chosen)
}
