use maud::{DOCTYPE, Markup, html};

use crate::{Assets, parts::text};

/// A whole document. `live` is the stream that keeps it up to date.
pub fn document(assets: &Assets, title: &str, live: Option<&str>, body: &Markup) -> Markup {
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
            body data-live=[live] {
                a.skip href="#main" { "Skip to content" }
                (body)
            }
        }
    }
}
