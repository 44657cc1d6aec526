//! The files that every page uses.

use std::sync::OnceLock;

use cycod_engine::graph::Graph;
use cycod_page::Assets;

/// The files of this program.
pub(crate) fn assets() -> &'static Assets {
    static ASSETS: OnceLock<Assets> = OnceLock::new();
    ASSETS.get_or_init(|| Assets::with_style(Graph::STYLE))
}
