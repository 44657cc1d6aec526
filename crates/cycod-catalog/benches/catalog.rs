//! How long a list and a look-up take among 5,000 tools, beside what the kernel takes for asking alone.
//!
//! Each line gives the median and the fastest of its rounds. `floor` lists the directory and asks each file for its
//! times, once on one thread; nothing that never trusts a stale file can be much faster than half of it on two.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::{
    fmt::Write as _,
    fs,
    hint::black_box,
    path::Path,
    thread,
    time::{Duration, Instant, SystemTime},
};

use cycod_catalog::{Catalog, Overrides, ScopeFilter, Scopes};
use cycod_definition::{Host, Platform};

const TOOLS: usize = 5_000;

fn main() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let home = root.path().join("home");
    let tools = home.join(".cycod/tools");
    fs::create_dir_all(&tools).expect("a directory");
    for number in 0..TOOLS {
        fs::write(tools.join(format!("tool-{number:04}.yaml")), text(number)).expect("a file");
    }
    let host = Host {
        platform: Platform::Linux,
        working_directory: root.path().to_owned(),
        workspace: root.path().to_owned(),
        temp: root.path().to_owned(),
        environment: [("PATH".into(), "/usr/bin:/bin".into())].into(),
        now: SystemTime::UNIX_EPOCH,
        offered: cycod_definition::OfferedConfinement::nothing(),
        home,
    };
    let overrides = Overrides { user: None, added: None, global: Some(root.path().join("global")) };
    let cache = host.home.join(".cycod/cache");
    let scopes = || Scopes::discover(&host, &overrides);
    let open = || Catalog::open(scopes(), &host);
    // Files just written are not settled: whatever changed them again in this moment could not be told apart.
    thread::sleep(Duration::from_millis(2_500));

    measure("floor: readdir + stat, one thread", 15, || floor(&tools));
    measure("discover the scopes", 15, || drop(black_box(scopes())));
    measure("list, no index kept", 5, || list(&Catalog::open_uncached(scopes(), &host)));
    measure("list, every file new (index written)", 5, || {
        _ = fs::remove_dir_all(&cache);
        list(&open());
    });
    measure("list, warm", 25, || list(&open()));
    measure("look up one, warm", 51, || {
        let entry = open().find("tool-4321", ScopeFilter::Any).expect("it is there");
        assert!(entry.is_active());
    });
    measure("look up one and load it, warm", 51, || {
        let entry = open().find("tool-4321", ScopeFilter::Any).expect("it is there");
        black_box(entry.load().expect("it loads"));
    });
    measure("look up one, another file just edited", 15, || {
        fs::write(tools.join("tool-0007.yaml"), text(7)).expect("a file");
        black_box(open().find("tool-4321", ScopeFilter::Any).expect("it is there"));
    });
    measure("look up one, directory just changed", 15, || {
        fs::write(tools.join("extra.yaml"), "description: d\nbash: ls\n").expect("a file");
        fs::remove_file(tools.join("extra.yaml")).expect("a file");
        black_box(open().find("tool-4321", ScopeFilter::Any).expect("it is there"));
    });

    for few in [4, 8, 16, 64] {
        let project = root.path().join(format!("project-{few}"));
        let tools = project.join(".cycod/tools");
        fs::create_dir_all(&tools).expect("a directory");
        for number in 0..few {
            fs::write(tools.join(format!("tool-{number:04}.yaml")), text(number)).expect("a file");
        }
        let empty = root.path().join("empty");
        let host = Host { working_directory: project.clone(), home: empty.clone(), ..host.clone() };
        let scopes = || Scopes::discover(&host, &overrides);
        thread::sleep(Duration::from_millis(2_500));
        list(&Catalog::open(scopes(), &host));
        measure(&format!("look up one of {few}, warm"), 51, || {
            black_box(Catalog::open(scopes(), &host).find("tool-0002", ScopeFilter::Any));
        });
        measure(&format!("look up one of {few}, no index"), 51, || {
            black_box(Catalog::open_uncached(scopes(), &host).find("tool-0002", ScopeFilter::Any));
        });
    }
}

fn measure(what: &str, rounds: usize, mut work: impl FnMut()) {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("{what:<44} {:>9.3} ms   best {:>9.3} ms", ms(times[rounds / 2]), ms(times[0]));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn list(catalog: &Catalog) {
    let entries = catalog.entries();
    assert!(entries.iter().all(|entry| entry.is_active()), "{:?}", entries.iter().find(|entry| !entry.is_active()));
    black_box(entries);
}

fn floor(tools: &Path) {
    let mut bytes = 0;
    for entry in fs::read_dir(tools).expect("a directory") {
        bytes += entry.expect("an entry").metadata().expect("a file").len();
    }
    black_box(bytes);
}

/// A tool of 64 lines, like those that people write.
fn text(number: usize) -> String {
    let mut text = format!(
        "name: tool-{number:04}\ndescription: Fetch page {number} of the report and count what is in it\n\
         version: 1.{number}.0\n\n# What runs, step by step\nsteps:\n"
    );
    for step in 0..4 {
        _ = write!(
            text,
            "  - name: step{step}\n    bash: |\n      echo \"page {{PAGE}} of {{URL}}\" | tee -a out.txt\n      \
             grep -c {{PATTERN}} out.txt || true\n    continue-on-error: false\n    error-handling:\n      retry:\n        \
             attempts: 2\n        delay: 100\n"
        );
    }
    text.push_str("\nparameters:\n");
    for (name, kind) in [("URL", "string"), ("PAGE", "number"), ("PATTERN", "string")] {
        _ = write!(
            text,
            "  {name}:\n    type: {kind}\n    description: The {name} to use for this call\n    required: true\n"
        );
    }
    text.push_str(
        "\ntimeout: 30000\ntags: [report, read]\nplatforms: [linux, macos]\nmetadata:\n  category: reporting\n  \
         subcategory: pages\n  search-keywords: [page, count]\n",
    );
    text
}
