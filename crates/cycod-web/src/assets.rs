//! The files that every page uses. They are in the program, and their addresses contain their digest, so that a browser can keep
//! them for as long as it likes.

use std::sync::OnceLock;

use cycod_engine::graph::Graph;
use cycod_store::Digest;

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) path: String,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
}

/// All files of the page.
pub(crate) struct Assets {
    pub(crate) style: Asset,
    pub(crate) script: Asset,
    pub(crate) icon: Asset,
}

impl Assets {
    /// The files of this program.
    pub(crate) fn get() -> &'static Self {
        static ASSETS: OnceLock<Assets> = OnceLock::new();
        ASSETS.get_or_init(|| Self {
            style: asset("page", "css", "text/css; charset=utf-8", format!("{STYLE}{}", Graph::STYLE)),
            script: asset("page", "js", "text/javascript; charset=utf-8", SCRIPT.to_owned()),
            icon: asset("icon", "svg", "image/svg+xml", ICON.to_owned()),
        })
    }

    /// The file at an address.
    pub(crate) fn at(&self, path: &str) -> Option<&Asset> {
        [&self.style, &self.script, &self.icon].into_iter().find(|asset| asset.path == path)
    }
}

fn asset(name: &str, ending: &str, media_type: &'static str, text: String) -> Asset {
    let digest = Digest::of(text.as_bytes()).to_string();
    Asset { path: format!("/assets/{name}.{}.{ending}", &digest[..12]), media_type, text }
}
