//! The files that every page uses. They are in the program, and their addresses contain their digest, so that a browser can keep
//! them for as long as it likes.

use std::sync::OnceLock;

use hyper::{
    Response, StatusCode,
    header::{CACHE_CONTROL, HeaderValue},
};
use ring::digest;

use crate::reply::{self, PageBody};

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// A file of a page.
#[derive(Debug)]
pub struct Asset {
    /// Its address on the server.
    pub path: String,
    media_type: &'static str,
    text: String,
}

/// The files of the pages of a server.
#[derive(Debug)]
pub struct Assets {
    /// The style sheet.
    pub style: Asset,
    /// The script, without which pages work as well.
    pub script: Asset,
    /// The icon.
    pub icon: Asset,
}

impl Assets {
    /// The files, with more rules for what only this server shows.
    pub fn with_style(more: &str) -> Self {
        Self {
            style: asset("page", "css", "text/css; charset=utf-8", format!("{STYLE}{more}")),
            script: asset("page", "js", "text/javascript; charset=utf-8", SCRIPT.to_owned()),
            icon: asset("icon", "svg", "image/svg+xml", ICON.to_owned()),
        }
    }

    /// The files that every server has.
    pub fn plain() -> &'static Self {
        static ASSETS: OnceLock<Assets> = OnceLock::new();
        ASSETS.get_or_init(|| Self::with_style(""))
    }

    /// The answer with the file at an address; nothing if there is none.
    pub fn at(&self, path: &str) -> Option<Response<PageBody>> {
        let asset = [&self.style, &self.script, &self.icon].into_iter().find(|asset| asset.path == path)?;
        let mut response = reply::with_type(StatusCode::OK, asset.media_type, reply::whole(asset.text.clone()));
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(CACHE_CONTROL, forever);
        Some(response)
    }
}

fn asset(name: &str, ending: &str, media_type: &'static str, text: String) -> Asset {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    let digits: String = digest.as_ref()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    Asset { path: format!("/assets/{name}.{digits}.{ending}"), media_type, text }
}
