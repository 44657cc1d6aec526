use std::ops::Range;

use oxc_ast::ast::{
    AccessorProperty, ArrowFunctionExpression, BindingPattern, Class, ClassElement, Declaration, Decorator,
    ExportAllDeclaration, ExportDeclaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind,
    ExportFromDeclaration, ExportNamedDeclaration, ExportSpecifier, Expression, FormalParameter, ImportDeclaration,
    ImportDeclarationSpecifier, ImportExpression, ImportOrExportKind, MethodDefinition, MethodDefinitionType,
    ModuleExportName, Program, PropertyDefinition, PropertyDefinitionType, PropertyKey, Statement, TSAsExpression,
    TSClassImplements, TSEnumDeclaration, TSExportAssignment, TSExternalModuleDeclaration, TSGlobalDeclaration,
    TSImportEqualsDeclaration, TSInstantiationExpression, TSInterfaceDeclaration, TSModuleReference,
    TSNamespaceDeclaration, TSNamespaceDeclarationBody, TSNamespaceExportDeclaration, TSNonNullExpression,
    TSSatisfiesExpression, TSThisParameter, TSTypeAliasDeclaration, TSTypeAnnotation, TSTypeAssertion,
    TSTypeParameterDeclaration, TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::{Exports, ScriptDiagnostic, too_deep};

/// How many expressions and statements may stand in one another.
const DEEPEST: usize = 2_000;

/// Whether a program may use other modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Imports {
    /// It stands alone.
    Refused,
    /// It finds them where it runs.
    Kept,
}

/// What became of a program.
pub(super) struct Blanked {
    pub(super) script: String,
    pub(super) exports: Exports,
    pub(super) problems: Vec<ScriptDiagnostic>,
}

/// Leaves the types of a program out.
pub(super) fn blank<'a>(code: &str, program: &Program<'a>, imports: Imports) -> Blanked {
    let mut blanker = Blanker {
        code,
        script: code.as_bytes().to_vec(),
        exports: Exports::default(),
        problems: Vec::new(),
        ends: Vec::new(),
        depth: 0,
        imports,
    };
    blanker.visit_program(program);
    // The engine knows it only at the very start, where nothing of the file may stand before it.
    if let Some(hashbang) = &program.hashbang {
        blanker.erase(range(hashbang.span));
    }
    let Blanker { script, exports, problems, .. } = blanker;
    let script = String::from_utf8(script).expect("whole characters were replaced by whole characters");
    Blanked { script, exports, problems }
}

struct Blanker<'c> {
    code: &'c str,
    script: Vec<u8>,
    exports: Exports,
    problems: Vec<ScriptDiagnostic>,
    /// Where the statements and fields that we are in end, the innermost last.
    ends: Vec<u32>,
    depth: usize,
    imports: Imports,
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

impl Blanker<'_> {
    /// Replaces code by space that is as long and as wide, and keeps its lines.
    fn erase(&mut self, place: Range<usize>) {
        for (at, char) in self.code[place.clone()].char_indices() {
            let at = place.start + at;
            let space = match (char, char.len_utf8()) {
                ('\n' | '\r' | '\u{2028}' | '\u{2029}', _) => continue,
                (_, 1) => " ",
                (_, 2) => "\u{a0}",
                (_, 3) => "\u{3000}",
                _ => "\u{a0}\u{a0}",
            };
            self.script[at..at + space.len()].copy_from_slice(space.as_bytes());
        }
    }

    /// Erases a whole statement or member.
    ///
    /// Without a semicolon in its place, what stands before and after it could become one.
    fn erase_statement(&mut self, span: Span) {
        self.erase(range(span));
        self.script[span.start as usize] = b';';
    }

    /// Erases the end of something that may be the end of a statement.
    ///
    /// After a type, a new line begins a new statement; after what remains, it might continue it.
    fn erase_tail(&mut self, place: Range<usize>) {
        self.erase(place.clone());
        if self.ends.last() == Some(&(place.end as u32)) {
            self.put(place.start, b';');
        }
    }

    /// Writes a character of one byte over whatever stands there.
    fn put(&mut self, at: usize, byte: u8) {
        let at = self.code.floor_char_boundary(at);
        let width = self.code[at..].chars().next().map_or(1, char::len_utf8);
        self.script[at..at + width].fill(b' ');
        self.script[at] = byte;
    }

    /// Returns where the next character stands that is neither space nor comment.
    fn next_token(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.code[at..];
            let trimmed = rest.trim_start_matches(|char: char| char.is_whitespace() || char == '\u{feff}');
            at += rest.len() - trimmed.len();
            let skipped = if trimmed.starts_with("//") {
                trimmed.find(['\n', '\r', '\u{2028}', '\u{2029}'])
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map(|end| end + 2)
            } else {
                return at;
            };
            at += skipped.unwrap_or(trimmed.len());
        }
    }

    /// Erases a mark such as `?` if it comes next; the end of a computed name may stand before it.
    fn erase_mark(&mut self, after: usize, mark: u8) {
        let mut at = self.next_token(after);
        if self.code.as_bytes().get(at) == Some(&b']') {
            at = self.next_token(at + 1);
        }
        if self.code.as_bytes().get(at) == Some(&mark) {
            self.erase(at..at + 1);
        }
    }

    /// Erases the words of TypeScript before the name of a member or the word `class`.
    fn erase_modifiers(&mut self, member: Range<usize>) {
        const MODIFIERS: [&str; 7] = ["public", "private", "protected", "readonly", "override", "abstract", "declare"];
        let mut at = self.next_token(member.start);
        while at < member.end {
            let word: &str = &self.code[at..member.end];
            let length = word.find(|char: char| !(char.is_alphanumeric() || "_$".contains(char))).unwrap_or(word.len());
            if MODIFIERS.contains(&&word[..length]) {
                self.erase(at..at + length);
                // A field before it may end without a semicolon, and `[` or `*` would continue it.
                if at == member.start {
                    self.script[at] = b';';
                }
            }
            let step = length.max(word.chars().next().map_or(1, char::len_utf8));
            at = self.next_token(at + step);
        }
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>, help: &str) {
        self.problems.push(ScriptDiagnostic::new(self.code, range(span), message, Some(help)));
    }

    fn has_line_end(&self, place: Range<usize>) -> bool {
        self.code[place].contains(['\n', '\r', '\u{2028}', '\u{2029}'])
    }

    fn export(&mut self, name: &str) {
        self.exports.execute |= name == "execute";
        self.exports.default |= name == "default";
        self.exports.names.push(name.to_owned());
    }

    /// Leaves out one of several names, with the comma after it.
    fn erase_specifier(&mut self, span: Span) {
        let end = span.end as usize;
        let next = self.next_token(end);
        let is_comma = self.code.as_bytes().get(next) == Some(&b',');
        self.erase(span.start as usize..if is_comma { next + 1 } else { end });
    }

    /// Goes one level deeper, if that is not too deep.
    fn deeper(&mut self, span: Span, walk: impl FnOnce(&mut Self)) {
        self.depth += 1;
        if self.depth <= DEEPEST {
            walk(self);
        } else if self.depth == DEEPEST + 1 && self.problems.is_empty() {
            self.problems.push(too_deep(self.code, range(span)));
        }
        self.depth -= 1;
    }

    fn refuse_import(&mut self, span: Span) {
        if self.imports == Imports::Kept {
            return;
        }
        self.refuse(
            span,
            "a tool's code stands alone and imports nothing",
            "write `import type` if only types are meant, reach files and programs through `context.platform`, and put \
             other code into the file",
        );
    }
}

fn module_name<'n>(name: &'n ModuleExportName<'_>) -> &'n str {
    match name {
        ModuleExportName::IdentifierName(name) => &name.name,
        ModuleExportName::IdentifierReference(name) => &name.name,
        ModuleExportName::StringLiteral(name) => &name.value,
    }
}

/// Whether nothing remains of a declaration when its types are left out.
fn is_only_types(declaration: &Declaration<'_>) -> bool {
    match declaration {
        Declaration::VariableDeclaration(variables) => variables.declare,
        Declaration::FunctionDeclaration(function) => function.declare || function.body.is_none(),
        Declaration::ClassDeclaration(class) => class.declare,
        Declaration::TSTypeAliasDeclaration(_)
        | Declaration::TSInterfaceDeclaration(_)
        | Declaration::TSExternalModuleDeclaration(_)
        | Declaration::TSGlobalDeclaration(_) => true,
        Declaration::TSEnumDeclaration(declaration) => declaration.declare,
        Declaration::TSNamespaceDeclaration(namespace) => is_namespace_of_types(namespace),
        Declaration::TSImportEqualsDeclaration(import) => import.import_kind == ImportOrExportKind::Type,
    }
}

fn is_namespace_of_types(namespace: &TSNamespaceDeclaration<'_>) -> bool {
    namespace.declare
        || match &namespace.body {
            TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => is_namespace_of_types(inner),
            TSNamespaceDeclarationBody::TSModuleBlock(block) => block.body.iter().all(|statement| match statement {
                Statement::ExportDeclaration(export) => is_only_types(&export.declaration),
                Statement::ExportNamedDeclaration(export) => export.export_kind == ImportOrExportKind::Type,
                Statement::EmptyStatement(_) => true,
                other => other.as_declaration().is_some_and(is_only_types),
            }),
        }
}

impl<'a> Visit<'a> for Blanker<'_> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        if it.as_declaration().is_some_and(is_only_types) {
            return self.erase_statement(it.span());
        }
        self.ends.push(it.span().end);
        self.deeper(it.span(), |this| walk::walk_statement(this, it));
        self.ends.pop();
    }

    fn visit_expression(&mut self, it: &Expression<'a>) {
        self.deeper(it.span(), |this| walk::walk_expression(this, it));
    }

    fn visit_binding_pattern(&mut self, it: &BindingPattern<'a>) {
        self.deeper(it.span(), |this| walk::walk_binding_pattern(this, it));
    }

    // Types in the midst of code.

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.erase_tail(range(it.span));
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.erase(range(it.span));
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.erase(range(it.span));
    }

    fn visit_ts_instantiation_expression(&mut self, it: &TSInstantiationExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_tail(range(it.type_arguments.span));
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_tail(self.next_token(it.expression.span().end as usize)..it.span.end as usize);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_tail(self.next_token(it.expression.span().end as usize)..it.span.end as usize);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_mark(it.expression.span().end as usize, b'!');
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        let end = it.span.end as usize;
        let next = self.next_token(end);
        let is_comma = self.code.as_bytes().get(next) == Some(&b',');
        self.erase(it.span.start as usize..if is_comma { next + 1 } else { end });
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.erase_mark(it.id.span().end as usize, b'!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.refuse(
                it.span,
                "a parameter that is also a field makes code, which leaving types out cannot do",
                "declare the field in the class, and assign it in the constructor",
            );
        }
        if it.optional {
            self.erase_mark(it.pattern.span().end as usize, b'?');
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        // No line may end before the `(` where `async` or `return` stands before it, nor between `)` and `=>`.
        let parameters = range(it.params.span);
        if let Some(types) = &it.type_parameters {
            let start = types.span.start as usize;
            if self.has_line_end(start..parameters.start) {
                self.put(parameters.start, b' ');
                self.put(start, b'(');
            }
        }
        if let Some(returned) = &it.return_type {
            let end = returned.span.end as usize;
            if self.has_line_end(parameters.end..end) {
                self.put(parameters.end - 1, b' ');
                self.put(end - 1, b')');
            }
        }
    }

    // Classes.

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            let start = it.decorators.last().map_or(it.span.start, |decorator| decorator.span.end) as usize;
            let start = self.next_token(start);
            if self.code[start..].starts_with("abstract") {
                self.erase(start..start + "abstract".len());
            }
        }
        walk::walk_class(self, it);
        if let Some(first) = it.implements.first() {
            let before = it
                .heritage
                .as_ref()
                .map(|heritage| {
                    heritage.type_arguments.as_ref().map_or(heritage.expression.span().end, |it| it.span.end)
                })
                .or(it.type_parameters.as_ref().map(|types| types.span.end))
                .or(it.id.as_ref().map(|id| id.span.end))
                .unwrap_or(it.span.start) as usize;
            let end = it.implements.last().unwrap_or(first).span.end as usize;
            // Without a name, the word `class` stands before it.
            let word = self.code[before..first.span.start as usize].rfind("implements").map(|at| before + at);
            self.erase(word.unwrap_or(first.span.start as usize)..end);
        }
    }

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        let only_types = match it {
            ClassElement::MethodDefinition(method) => {
                method.r#type == MethodDefinitionType::TSAbstractMethodDefinition || method.value.body.is_none()
            }
            ClassElement::PropertyDefinition(property) => {
                property.declare || property.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
            }
            ClassElement::TSIndexSignature(_) => true,
            ClassElement::StaticBlock(_) | ClassElement::AccessorProperty(_) => false,
        };
        if only_types {
            return self.erase_statement(it.span());
        }
        self.ends.push(it.span().end);
        walk::walk_class_element(self, it);
        self.ends.pop();
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        self.erase_modifiers(it.span.start as usize..start_of(&it.key));
        if it.optional {
            self.erase_mark(it.key.span().end as usize, b'?');
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        self.erase_modifiers(it.span.start as usize..start_of(&it.key));
        for (is_marked, mark) in [(it.optional, b'?'), (it.definite, b'!')] {
            if is_marked {
                self.erase_mark(it.key.span().end as usize, mark);
            }
        }
        walk::walk_property_definition(self, it);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.refuse(it.span, "the engine knows no `accessor` fields", "write a field, or `get` and `set`");
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "the engine knows no decorators", "call the function on the class or the method yourself");
    }

    // Modules.

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        let only_types = it.import_kind == ImportOrExportKind::Type
            || it.specifiers.as_ref().is_some_and(|specifiers| {
                !specifiers.is_empty()
                    && specifiers.iter().all(|specifier| {
                        matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(specifier)
                            if specifier.import_kind == ImportOrExportKind::Type)
                    })
            });
        if only_types {
            self.erase_statement(it.span);
        } else {
            self.refuse_import(it.span);
            for specifier in it.specifiers.iter().flatten() {
                if let ImportDeclarationSpecifier::ImportSpecifier(specifier) = specifier
                    && specifier.import_kind == ImportOrExportKind::Type
                {
                    self.erase_specifier(specifier.span);
                }
            }
        }
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.refuse_import(it.span);
        walk::walk_import_expression(self, it);
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        match it.export_kind {
            ImportOrExportKind::Type => self.erase_statement(it.span),
            ImportOrExportKind::Value => self.refuse_import(it.span),
        }
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        let is_type = |specifier: &ExportSpecifier<'_>| specifier.export_kind == ImportOrExportKind::Type;
        let all_types = !it.specifiers.is_empty() && it.specifiers.iter().all(is_type);
        if all_types || it.export_kind == ImportOrExportKind::Type {
            self.erase_statement(it.span);
        } else {
            self.refuse_import(it.span);
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            return self.erase_statement(it.span);
        }
        for specifier in &it.specifiers {
            if specifier.export_kind == ImportOrExportKind::Type {
                self.erase_specifier(specifier.span);
            } else {
                self.export(module_name(&specifier.exported));
            }
        }
    }

    fn visit_export_declaration(&mut self, it: &ExportDeclaration<'a>) {
        if is_only_types(&it.declaration) {
            return self.erase_statement(it.span);
        }
        match &it.declaration {
            Declaration::FunctionDeclaration(function) => {
                if let Some(id) = &function.id {
                    self.export(&id.name);
                }
            }
            Declaration::ClassDeclaration(class) => {
                if let Some(id) = &class.id {
                    self.export(&id.name);
                }
            }
            Declaration::VariableDeclaration(variables) => {
                for variable in &variables.declarations {
                    for id in variable.id.get_binding_identifiers() {
                        self.export(&id.name);
                    }
                }
            }
            _ => {}
        }
        walk::walk_export_declaration(self, it);
    }

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        let only_types = match &it.declaration {
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => true,
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => function.body.is_none(),
            _ => false,
        };
        if only_types {
            return self.erase_statement(it.span);
        }
        self.export("default");
        walk::walk_export_default_declaration(self, it);
    }

    // What makes code, or is another language.

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.refuse(
            it.span,
            format!("`enum {}` makes code, which leaving types out cannot do", it.id.name),
            "write an object with `as const`, and a union of its values as the type",
        );
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.refuse(
            it.span,
            format!("`namespace {}` makes code, which leaving types out cannot do", it.id.name),
            "write its functions and values at the top of the file, or in an object",
        );
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        match it.module_reference {
            TSModuleReference::ExternalModuleReference(_) => self.refuse_import(it.span),
            _ => self.refuse(
                it.span,
                format!("`import {} = …` makes code, which leaving types out cannot do", it.id.name),
                "write `const` for a value and `type` for a type",
            ),
        }
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        self.refuse(it.span, "`export =` belongs to modules of another kind", "write `export default`");
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.refuse(
            Span::new(it.span.start, it.expression.span().start),
            "a type before a value cannot be told from other code when it is left out",
            "write `value as Type`",
        );
        self.visit_expression(&it.expression);
    }

    // Reached only as part of what was erased whole.

    fn visit_ts_type_alias_declaration(&mut self, _: &TSTypeAliasDeclaration<'a>) {}
    fn visit_ts_interface_declaration(&mut self, _: &TSInterfaceDeclaration<'a>) {}
    fn visit_ts_external_module_declaration(&mut self, _: &TSExternalModuleDeclaration<'a>) {}
    fn visit_ts_global_declaration(&mut self, _: &TSGlobalDeclaration<'a>) {}

    fn visit_ts_namespace_export_declaration(&mut self, it: &TSNamespaceExportDeclaration<'a>) {
        self.erase_statement(it.span);
    }
}

/// Where a name begins; that of a computed name is inside the brackets.
fn start_of(key: &PropertyKey<'_>) -> usize {
    key.span().start as usize
}
