//! Walks over a program: what it exports, and what can't be where it is to run. It never goes deeper than its stack allows.

use oxc_ast::ast::{
    AccessorProperty, BindingPattern, Class, Declaration, Decorator, ExportAllDeclaration, ExportDeclaration,
    ExportDefaultDeclaration, ExportDefaultDeclarationKind, ExportFromDeclaration, ExportNamedDeclaration,
    ExportSpecifier, Expression, IdentifierReference, ImportDeclaration, ImportDeclarationSpecifier, ImportExpression,
    ImportOrExportKind, ModuleExportName, Program, Statement, TSExportAssignment, TSImportEqualsDeclaration,
    TSModuleReference, TSNamespaceDeclaration, TSNamespaceDeclarationBody, TSType,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::{Exports, Home, ScriptDiagnostic, too_deep};

/// How many expressions, statements and types may stand in one another.
const DEEPEST: usize = 2_000;

/// What a program offers, and what in it cannot be where it is to run.
pub(super) fn look<'a>(code: &str, program: &Program<'a>, home: Home) -> (Exports, Vec<ScriptDiagnostic>) {
    let mut looker = Looker { code, exports: Exports::default(), problems: Vec::new(), depth: 0, namespaces: 0, home };
    looker.visit_program(program);
    (looker.exports, looker.problems)
}

struct Looker<'c> {
    code: &'c str,
    exports: Exports,
    problems: Vec<ScriptDiagnostic>,
    depth: usize,
    /// How many namespaces are around, but for those of types.
    namespaces: usize,
    home: Home,
}

impl Looker<'_> {
    fn refuse(&mut self, span: Span, message: impl Into<String>, help: &str) {
        self.problems.push(ScriptDiagnostic::new(self.code, range(span), message, Some(help)));
    }

    fn refuse_import(&mut self, span: Span) {
        if self.home == Home::Elsewhere {
            return;
        }
        self.refuse(
            span,
            "a tool's code stands alone and imports nothing",
            "write `import type` if only types are meant, reach files and programs through `context.platform`, and put \
             other code into the file",
        );
    }

    fn export(&mut self, name: &str) {
        self.exports.execute |= name == "execute";
        self.exports.default |= name == "default";
        self.exports.names.push(name.to_owned());
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
}

pub(super) fn range(span: Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
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

impl<'a> Visit<'a> for Looker<'_> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        self.deeper(it.span(), |this| walk::walk_statement(this, it));
    }

    fn visit_expression(&mut self, it: &Expression<'a>) {
        self.deeper(it.span(), |this| walk::walk_expression(this, it));
    }

    fn visit_binding_pattern(&mut self, it: &BindingPattern<'a>) {
        self.deeper(it.span(), |this| walk::walk_binding_pattern(this, it));
    }

    fn visit_ts_type(&mut self, it: &TSType<'a>) {
        self.deeper(it.span(), |this| walk::walk_ts_type(this, it));
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        // What is put into `exports`, or takes its place, is known when the code has run.
        if self.home == Home::Elsewhere && matches!(&*it.name, "exports" | "module") {
            self.exports.is_open = true;
        }
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.deeper(it.span, |this| walk::walk_class(this, it));
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.refuse(it.span, "the engine knows no `accessor` fields", "write a field, or `get` and `set`");
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "the engine knows no decorators", "call the function on the class or the method yourself");
    }

    // Modules.

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        let is_type = |specifier: &ImportDeclarationSpecifier<'_>| matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(specifier) if specifier.import_kind == ImportOrExportKind::Type);
        let only_types = it.import_kind == ImportOrExportKind::Type
            || it.specifiers.as_ref().is_some_and(|all| !all.is_empty() && all.iter().all(is_type));
        if !only_types {
            self.refuse_import(it.span);
        }
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.refuse_import(it.span);
        walk::walk_import_expression(self, it);
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Value {
            self.refuse_import(it.span);
            match &it.exported {
                Some(name) => self.export(module_name(name)),
                None => self.exports.is_open = true,
            }
        }
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        let is_type = |specifier: &ExportSpecifier<'_>| specifier.export_kind == ImportOrExportKind::Type;
        let all_types = !it.specifiers.is_empty() && it.specifiers.iter().all(is_type);
        if !all_types && it.export_kind == ImportOrExportKind::Value {
            self.refuse_import(it.span);
            it.specifiers.iter().filter(|one| !is_type(one)).for_each(|one| self.export(module_name(&one.exported)));
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            return;
        }
        for specifier in &it.specifiers {
            if specifier.export_kind == ImportOrExportKind::Value {
                self.export(module_name(&specifier.exported));
            }
        }
    }

    fn visit_export_declaration(&mut self, it: &ExportDeclaration<'a>) {
        if let Declaration::VariableDeclaration(variables) = &it.declaration
            && self.namespaces > 0
            && !variables.declare
            && !variables.kind.is_const()
        {
            self.refuse(
                it.span,
                "a namespace exports no `let` and no `var`, because they could change",
                "write `export const`, or export functions that read and change the variable",
            );
        }
        match &it.declaration {
            declaration if is_only_types(declaration) => {}
            Declaration::FunctionDeclaration(function) => {
                function.id.iter().for_each(|id| self.export(&id.name));
            }
            Declaration::ClassDeclaration(class) => class.id.iter().for_each(|id| self.export(&id.name)),
            Declaration::VariableDeclaration(variables) => {
                for variable in &variables.declarations {
                    for id in variable.id.get_binding_identifiers() {
                        self.export(&id.name);
                    }
                }
            }
            Declaration::TSEnumDeclaration(declaration) => self.export(&declaration.id.name),
            Declaration::TSNamespaceDeclaration(namespace) => self.export(&namespace.id.name),
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
        if !only_types {
            self.export("default");
        }
        walk::walk_export_default_declaration(self, it);
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        // What a namespace exports, the module does not.
        let outside = self.exports.clone();
        self.namespaces += usize::from(!is_namespace_of_types(it));
        walk::walk_ts_namespace_declaration(self, it);
        self.namespaces -= usize::from(!is_namespace_of_types(it));
        self.exports = outside;
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        if let TSModuleReference::ExternalModuleReference(_) = it.module_reference
            && it.import_kind == ImportOrExportKind::Value
        {
            match self.home {
                Home::Engine => self.refuse_import(it.span),
                Home::Elsewhere => self.refuse(
                    it.span,
                    "`import … = require(…)` belongs to modules of another kind",
                    "write `import … from '…'`",
                ),
            }
        }
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        self.refuse(it.span, "`export =` belongs to modules of another kind", "write `export default`");
    }
}
