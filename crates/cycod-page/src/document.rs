use maud::{DOCTYPE, Markup, html};

use crate::{Assets, parts::text};

/// The stream that keeps a page up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its address.
    pub address: String,
    /// What the page says when the stream is refused.
    pub refused: &'static str,
}

/// A whole document.
pub fn document(assets: &Assets, title: &str, live: Option<&Live>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (text(title)) " · cycod" }
                link rel="icon" href=(assets.icon.path);
                link rel="stylesheet" href=(assets.style.path);
                script src=(assets.script.path) defer {}
            }
            body data-live=[live.map(|live| &live.address)] data-refused=[live.map(|live| live.refused)] {
                a.skip href="#main" { "Skip to content" }
                (body)
            }
        }
    }
}
