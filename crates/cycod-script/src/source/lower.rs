use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_semantic::SemanticBuilder;
use oxc_transformer::{TransformOptions, Transformer};

use super::{ScriptDiagnostic, SourcePlaces, told};

/// The name of the code where one is asked for; nobody sees it.
const NAME: &str = "tool.ts";

/// Makes JavaScript of TypeScript, with the places where each part of it stood.
///
/// # Errors
/// With what has no JavaScript.
pub(super) fn lower<'a>(
    code: &str,
    allocator: &'a Allocator,
    mut program: Program<'a>,
) -> Result<(String, SourcePlaces), Vec<ScriptDiagnostic>> {
    // The engine knows it only at the very start, where nothing of the file may stand before it.
    program.hashbang = None;
    let read = SemanticBuilder::new_compiler().with_enum_eval(true).with_check_syntax_error(true).build(&program);
    // What is declared a second time is told where that happens.
    let problems: Vec<_> = read.diagnostics.iter().map(|found| told(code, found, found.labels.last())).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let scoping = read.semantic.into_scoping();
    let options = TransformOptions::default();
    let made = Transformer::new(allocator, Path::new(NAME), &options).build_with_scoping(scoping, &mut program);
    let problems: Vec<_> = made.diagnostics.iter().map(|found| told(code, found, found.labels.first())).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let options = CodegenOptions {
        comments: CommentOptions::disabled(),
        source_map_path: Some(NAME.into()),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).with_scoping(Some(made.scoping)).build(&program);
    let places = printed.map.map(|map| SourcePlaces::new(map.into_owned())).unwrap_or_default();
    Ok((printed.code, places))
}
