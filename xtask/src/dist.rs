//! What a release consists of: the program in the form of each package manager, with completions, man pages, checksums and a
//! list of what it is made of.
//!
//! Files are written in one order, without the time and the user of the build, so the same program gives the same packages.
//! Programs of the system do the packing; the report names what is left out where one is missing.

mod windows;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::order;

const SHELLS: [(&str, &str); 4] =
    [("bash", "cycod.bash"), ("zsh", "_cycod"), ("fish", "cycod.fish"), ("powershell", "_cycod.ps1")];

/// What every archive has beside the program.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// What the program is for, in a line.
const ABOUT: &str = "Tools for people and language models, written once in a small file";

const LICENSE: &str = "MIT OR Apache-2.0";

const NEEDS_URL: &str = "needs --url, the address of the release's files";

/// The targets of a release, with the names that package managers give them.
const TARGETS: [Target; 2] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        debian: "amd64",
        oci: "amd64",
        npm: "x64",
        wheel: "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
        brew: "on_intel",
        linker: None,
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        oci: "arm64",
        npm: "arm64",
        wheel: "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
        brew: "on_arm",
        linker: Some("aarch64-linux-gnu-gcc"),
    },
];

struct Target {
    triple: &'static str,
    debian: &'static str,
    oci: &'static str,
    npm: &'static str,
    wheel: &'static str,
    brew: &'static str,
    /// What links for it on another machine.
    linker: Option<&'static str>,
}

/// What is asked for.
struct Options {
    profile: String,
    out: PathBuf,
    /// Where the files of the release will be; without it, no formula of Homebrew.
    url: Option<String>,
    /// A program that was built for Windows; without it, no packages for Windows.
    windows: Option<PathBuf>,
}

type Step<T> = Result<T, String>;

/// Builds the packages; the error holds what is wrong.
pub(crate) fn dist(root: &Path, arguments: &[&str]) -> Result<String, Vec<String>> {
    let options = options(root, arguments).map_err(|why| vec![why])?;
    build(root, &options).map_err(|why| vec![why])
}

fn options(root: &Path, arguments: &[&str]) -> Step<Options> {
    let mut options =
        Options { profile: "release".to_owned(), out: root.join("target/dist"), url: None, windows: None };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().map(|value| (*value).to_owned()).ok_or(format!("`{word}` needs a value"));
        match *word {
            "--profile" => options.profile = value()?,
            "--out" => options.out = env::current_dir().unwrap_or_default().join(value()?),
            "--url" => options.url = Some(value()?.trim_end_matches('/').to_owned()),
            "--windows" => options.windows = Some(env::current_dir().unwrap_or_default().join(value()?)),
            _ => {
                let usage = "cargo xtask dist [--profile NAME] [--out DIR] [--url URL] [--windows PROGRAM]";
                return Err(format!("usage: {usage}, not `{word}`"));
            }
        }
    }
    Ok(options)
}

fn build(root: &Path, options: &Options) -> Step<String> {
    let metadata = run(root, "cargo", &["metadata", "--format-version", "1", "--locked"])?;
    let metadata: Value = serde_json::from_slice(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let package = metadata["packages"].as_array().into_iter().flatten().find(|package| package["name"] == "cycod");
    let version = package.and_then(|package| package["version"].as_str()).ok_or("there is no package `cycod`")?;
    let output = metadata["target_directory"].as_str().ok_or("cargo names no target directory")?;

    if options.out.exists() {
        fs::remove_dir_all(&options.out).map_err(|error| format!("{}: {error}", options.out.display()))?;
    }
    let host = String::from_utf8_lossy(&run(root, &compiler(), &["--print", "host-tuple"])?).trim().to_owned();
    let mut release = Release { root, options, version, made: Vec::new(), left_out: Vec::new(), images: Vec::new() };
    // The committed order misses what changed since it was written, and a program in a stale order starts slower.
    if options.profile == "release"
        && host == order::TARGET
        && let Err(problems) = order::order(root)
    {
        release.left_out.push(format!("a new order of functions: {}", problems.join("; ")));
    }
    let mut archives = Vec::new();
    let mut pages = None;
    for target in &TARGETS {
        if let Err(why) = can_build(root, target, &host) {
            release.left_out.push(format!("{}: {why}", target.triple));
            continue;
        }
        let profile = ["build", "--locked", "-p", "cycod", "--profile", &options.profile, "--target", target.triple];
        cargo(root, target, &profile)?;
        let folder = if options.profile == "dev" { "debug" } else { &options.profile };
        let built = Path::new(output).join(target.triple).join(folder).join("cycod");
        let program = release.stage(&format!("program/{}", target.triple))?.join("cycod");
        let strip = if target.triple == host { None } else { target.linker };
        let strip = strip.map_or("strip".to_owned(), |linker| linker.replace("gcc", "strip"));
        run(root, &strip, &["-o", &text(&program), &text(&built)])?;
        is_static(&program)?;
        // Only a program of this machine can print its pages; the others have the same.
        if target.triple == host {
            pages = Some(release.pages(&program)?);
        }
        let Some(pages) = &pages else {
            return Err(format!("{host} is none of the targets, so no program can print the completions"));
        };
        archives.push((target, release.archive(target, &program, pages)?));
        release.debian(target, &program, pages)?;
        release.npm_platform(target, &program)?;
        release.wheel(target, &program)?;
        release.image(target, &program)?;
        release.bill(target, &metadata)?;
    }
    if let Some(pages) = &pages {
        release.windows(pages)?;
    }
    release.npm_main(&archives)?;
    release.image_index()?;
    release.formula(&archives)?;
    release.checksums()?;
    let _ = fs::remove_dir_all(options.out.join("stage"));
    let mut said: Vec<String> = release.made.iter().map(|made| format!("made {made}")).collect();
    said.extend(release.left_out.iter().map(|left_out| format!("left out {left_out}")));
    Ok(said.join("\n"))
}

/// Why a target can't be built here.
fn can_build(root: &Path, target: &Target, host: &str) -> Step<()> {
    if target.triple == host {
        return Ok(());
    }
    let libraries = run(root, &compiler(), &["--print", "target-libdir", "--target", target.triple])?;
    if !Path::new(String::from_utf8_lossy(&libraries).trim()).exists() {
        return Err(format!("its standard library is missing: rustup target add {}", target.triple));
    }
    match target.linker {
        Some(linker) if !has(linker) => Err(format!("`{linker}` is missing")),
        _ => Ok(()),
    }
}

struct Release<'a> {
    root: &'a Path,
    options: &'a Options,
    version: &'a str,
    made: Vec<String>,
    left_out: Vec<String>,
    /// Manifests of images, for their index.
    images: Vec<Value>,
}

impl Release<'_> {
    /// An empty directory for the content of one package.
    fn stage(&self, name: &str) -> Step<PathBuf> {
        let path = self.options.out.join("stage").join(name);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    fn done(&mut self, name: &str) -> PathBuf {
        self.made.push(name.to_owned());
        self.options.out.join(name)
    }

    /// Whether a program is there; if not, what needs it is left out.
    fn can(&mut self, program: &str, what: &str) -> bool {
        let can = has(program);
        if !can {
            self.left_out.push(format!("{what}: `{program}` is missing"));
        }
        can
    }

    /// Completions and man pages.
    fn pages(&self, program: &Path) -> Step<PathBuf> {
        let pages = self.stage("pages")?;
        for (shell, name) in SHELLS {
            let script = run(self.root, &text(program), &["completions", shell])?;
            write(&pages.join("completions").join(name), script)?;
        }
        run(self.root, &text(program), &["man", "--output", &text(&pages.join("man"))])?;
        Ok(pages)
    }

    fn archive(&mut self, target: &Target, program: &Path, pages: &Path) -> Step<String> {
        let name = format!("cycod-{}-{}", self.version, target.triple);
        let stage = self.stage("archive")?;
        let content = stage.join(&name);
        copy(program, &content.join("cycod"), 0o755)?;
        for file in DOCUMENTS {
            copy(&self.root.join(file), &content.join(file), 0o644)?;
        }
        copy_all(&pages.join("completions"), &content.join("completions"))?;
        copy_all(&pages.join("man"), &content.join("man"))?;
        let file = format!("{name}.tar.gz");
        tar(&stage, &name, &self.done(&file))?;
        Ok(file)
    }

    fn debian(&mut self, target: &Target, program: &Path, pages: &Path) -> Step<()> {
        if !self.can("dpkg-deb", "the .deb") {
            return Ok(());
        }
        let stage = self.stage(&format!("deb/{}", target.debian))?;
        copy(program, &stage.join("usr/bin/cycod"), 0o755)?;
        let share = stage.join("usr/share");
        for (shell, place) in [
            ("cycod.bash", "bash-completion/completions/cycod"),
            ("_cycod", "zsh/vendor-completions/_cycod"),
            ("cycod.fish", "fish/vendor_completions.d/cycod.fish"),
        ] {
            copy(&pages.join("completions").join(shell), &share.join(place), 0o644)?;
        }
        copy_all(&pages.join("man"), &share.join("man/man1"))?;
        for page in files(&share.join("man/man1")) {
            run(self.root, "gzip", &["-9n", &text(&page)])?;
        }
        copy(&self.root.join("LICENSE-MIT"), &share.join("doc/cycod/copyright"), 0o644)?;
        let size = fs::metadata(program).map(|metadata| metadata.len() / 1024).unwrap_or_default();
        let control = format!(
            "Package: cycod\nVersion: {}\nArchitecture: {}\nMaintainer: the maintainers of cycod\nInstalled-Size: {size}\n\
             Recommends: bash, git\nSection: devel\nPriority: optional\n\
             Description: tools for people and language models\n Write a shell command or a workflow once, in a small file; cycod \
             makes it a\n command, a function-calling schema and a tool of the Model Context Protocol.\n",
            self.version, target.debian
        );
        write(&stage.join("DEBIAN/control"), control.into_bytes())?;
        let file = self.done(&format!("cycod_{}_{}.deb", self.version, target.debian));
        run(self.root, "dpkg-deb", &["--build", "--root-owner-group", &text(&stage), &text(&file)])?;
        Ok(())
    }

    /// The package with the program of one platform; the main package takes the one that fits.
    fn npm_platform(&mut self, target: &Target, program: &Path) -> Step<()> {
        let stage = self.stage(&format!("npm/{}", target.npm))?;
        copy(program, &stage.join("package/bin/cycod"), 0o755)?;
        let name = format!("cycod-linux-{}", target.npm);
        let manifest = json!({
            "name": name, "version": self.version, "license": LICENSE, "os": ["linux"], "cpu": [target.npm],
            "description": format!("cycod for Linux on {}", target.npm), "files": ["bin/cycod"],
        });
        write(&stage.join("package/package.json"), pretty(&manifest))?;
        tar(&stage, "package", &self.done(&format!("{name}-{}.tgz", self.version)))
    }

    fn npm_main(&mut self, archives: &[(&Target, String)]) -> Step<()> {
        let stage = self.stage("npm/main")?;
        let platforms: serde_json::Map<String, Value> =
            archives.iter().map(|(target, _)| (format!("cycod-linux-{}", target.npm), json!(self.version))).collect();
        let manifest = json!({
            "name": "cycod", "version": self.version, "license": LICENSE, "description": ABOUT,
            "bin": {"cycod": "cycod.js"}, "files": ["cycod.js"], "engines": {"node": ">=18"},
            "optionalDependencies": platforms,
        });
        write(&stage.join("package/package.json"), pretty(&manifest))?;
        write(&stage.join("package/cycod.js"), include_bytes!("dist/cycod.js").to_vec())?;
        run(self.root, "chmod", &["755", &text(&stage.join("package/cycod.js"))])?;
        copy(&self.root.join("README.md"), &stage.join("package/README.md"), 0o644)?;
        tar(&stage, "package", &self.done(&format!("cycod-{}.tgz", self.version)))
    }

    /// A wheel whose only content is the program, which pip puts where other programs are.
    fn wheel(&mut self, target: &Target, program: &Path) -> Step<()> {
        if !self.can("zip", "the wheel") {
            return Ok(());
        }
        let stage = self.stage(&format!("wheel/{}", target.npm))?;
        let (name, info) = (format!("cycod-{}", self.version), format!("cycod-{}.dist-info", self.version));
        let script = format!("{name}.data/scripts/cycod");
        copy(program, &stage.join(&script), 0o755)?;
        let readme = fs::read_to_string(self.root.join("README.md")).unwrap_or_default();
        let about = format!(
            "Metadata-Version: 2.1\nName: cycod\nVersion: {}\nSummary: {ABOUT}\nLicense: {LICENSE}\nRequires-Python: >=3.8\n\
             Description-Content-Type: text/markdown\n\n{readme}",
            self.version
        );
        write(&stage.join(&info).join("METADATA"), about.into_bytes())?;
        let tags: String = target.wheel.split('.').map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
        let wheel = format!("Wheel-Version: 1.0\nGenerator: cycod\nRoot-Is-Purelib: false\n{tags}");
        write(&stage.join(&info).join("WHEEL"), wheel.into_bytes())?;
        let mut record = String::new();
        for file in [script, format!("{info}/METADATA"), format!("{info}/WHEEL")] {
            let path = stage.join(&file);
            let size = fs::metadata(&path).map(|metadata| metadata.len()).unwrap_or_default();
            record.push_str(&format!("{file},sha256={},{size}\n", base64_url(&digest(&path)?)));
        }
        record.push_str(&format!("{info}/RECORD,,\n"));
        write(&stage.join(&info).join("RECORD"), record.into_bytes())?;
        let files = ["METADATA", "WHEEL", "RECORD"].map(|file| format!("{info}/{file}"));
        let data = format!("{name}.data/scripts/cycod");
        let [about, tags, record] = files.each_ref().map(String::as_str);
        self.zip(&stage, &format!("{name}-py3-none-{}.whl", target.wheel), &[&data, about, tags, record])
    }

    /// Packs files and directories of a directory, in the order of their names here.
    fn zip(&mut self, stage: &Path, file: &str, names: &[&str]) -> Step<()> {
        run(stage, "find", &[".", "-exec", "touch", "-d", "1980-01-02T00:00:00Z", "{}", "+"])?;
        let mut all = Vec::new();
        for name in names {
            let found = run(stage, "find", &[name, "-type", "f"])?;
            let mut found: Vec<String> = String::from_utf8_lossy(&found).lines().map(str::to_owned).collect();
            found.sort();
            all.append(&mut found);
        }
        let file = text(&self.done(file));
        let words = ["-X", "-q", "-D", &file].into_iter().chain(all.iter().map(String::as_str));
        run(stage, "zip", &words.collect::<Vec<_>>())?;
        Ok(())
    }

    /// The archive for Windows, and what scoop and winget read of it.
    fn windows(&mut self, pages: &Path) -> Step<()> {
        let Some(program) = &self.options.windows else {
            let made = "the program that `sh scripts/windows.sh build release` makes";
            self.left_out.push(format!("the packages for Windows: they need --windows, {made}"));
            return Ok(());
        };
        if !windows::is_program(&fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?) {
            return Err(format!("{}: not a program for Windows on x86-64", program.display()));
        }
        if !self.can("zip", "the packages for Windows") {
            return Ok(());
        }
        let name = format!("cycod-{}-{}", self.version, windows::TRIPLE);
        let stage = self.stage("windows")?;
        let content = stage.join(&name);
        copy(program, &content.join("cycod.exe"), 0o755)?;
        for file in DOCUMENTS {
            copy(&self.root.join(file), &content.join(file), 0o644)?;
        }
        copy(&pages.join("completions/_cycod.ps1"), &content.join("completions/_cycod.ps1"), 0o644)?;
        let file = format!("{name}.zip");
        self.zip(&stage, &file, &[&name])?;
        let Some(url) = &self.options.url else {
            self.left_out.push(format!("the files for scoop and winget: {NEEDS_URL}"));
            return Ok(());
        };
        let digest = digest(&self.options.out.join(&file))?;
        let archive = windows::Archive {
            version: self.version,
            about: ABOUT,
            license: LICENSE,
            url,
            name: &name,
            digest: &digest,
        };
        write(&self.done("cycod.json"), pretty(&archive.scoop()))?;
        // JSON is YAML.
        let mut files = archive.winget().into_iter();
        files.try_for_each(|(name, file)| write(&self.done(&format!("winget/{name}")), pretty(&file)))
    }

    /// An image with the program alone, to copy it from or to begin with.
    fn image(&mut self, target: &Target, program: &Path) -> Step<()> {
        let stage = self.stage(&format!("oci/{}", target.oci))?;
        copy(program, &stage.join("root/usr/bin/cycod"), 0o755)?;
        let (plain, packed) = (stage.join("layer.tar"), stage.join("layer.tar.gz"));
        tar_with(&stage.join("root"), "usr", &plain, &[])?;
        tar(&stage.join("root"), "usr", &packed)?;
        let config = json!({
            "architecture": target.oci, "os": "linux", "config": {"Entrypoint": ["/usr/bin/cycod"], "Env": ["PATH=/usr/bin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", digest(&plain)?)]},
        });
        let config =
            self.blob("application/vnd.oci.image.config.v1+json", serde_json::to_vec(&config).unwrap_or_default())?;
        let layer = fs::read(&packed).map_err(|error| error.to_string())?;
        let layer = self.blob("application/vnd.oci.image.layer.v1.tar+gzip", layer)?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": [layer],
        });
        let manifest = serde_json::to_vec(&manifest).unwrap_or_default();
        let mut manifest = self.blob("application/vnd.oci.image.manifest.v1+json", manifest)?;
        manifest["platform"] = json!({"architecture": target.oci, "os": "linux"});
        manifest["annotations"] = json!({"org.opencontainers.image.ref.name": self.version});
        self.images.push(manifest);
        Ok(())
    }

    /// Stores a blob under its digest, and describes it.
    fn blob(&self, kind: &str, content: Vec<u8>) -> Step<Value> {
        let (place, size) = (self.options.out.join("oci/blobs/sha256"), content.len());
        write(&place.join("new"), content)?;
        let digest = digest(&place.join("new"))?;
        fs::rename(place.join("new"), place.join(&digest)).map_err(|error| error.to_string())?;
        Ok(json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": size}))
    }

    fn image_index(&mut self) -> Step<()> {
        let index = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": self.images,
        });
        let place = self.options.out.join("oci");
        write(&place.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec())?;
        write(&place.join("index.json"), pretty(&index))?;
        let file = self.done(&format!("cycod-{}-oci.tar.gz", self.version));
        tar(&self.options.out, "oci", &file)
    }

    /// What the program is made of, as CycloneDX.
    fn bill(&mut self, target: &Target, metadata: &Value) -> Step<()> {
        let tree = ["tree", "--locked", "-p", "cycod", "-e", "normal", "--target", target.triple, "--prefix", "none"];
        let tree = run(self.root, "cargo", &[&tree[..], &["--format", "{p}"]].concat())?;
        let tree = String::from_utf8_lossy(&tree).into_owned();
        let mut used: Vec<(&str, &str)> = (tree.lines())
            .filter_map(|line| line.split_once(" v"))
            .map(|(name, rest)| (name, rest.split(' ').next().unwrap_or_default()))
            .collect();
        used.sort_unstable();
        used.dedup();
        let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let component = |(name, version): &(&str, &str)| {
            let package = packages.iter().find(|package| package["name"] == *name && package["version"] == *version)?;
            let mut component = json!({
                "type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}"),
            });
            if let Some(license) = package["license"].as_str() {
                component["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
            }
            Some(component)
        };
        let components: Vec<Value> = used.iter().filter(|(name, _)| *name != "cycod").filter_map(component).collect();
        let bill = json!({
            "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "application", "name": "cycod", "version": self.version}},
            "components": components,
        });
        write(&self.done(&format!("cycod-{}-{}.cdx.json", self.version, target.triple)), pretty(&bill))
    }

    fn formula(&mut self, archives: &[(&Target, String)]) -> Step<()> {
        let Some(url) = &self.options.url else {
            self.left_out.push(format!("the formula of Homebrew: {NEEDS_URL}"));
            return Ok(());
        };
        let mut formula = format!(
            "class Cycod < Formula\n  desc \"{ABOUT}\"\n  homepage \"{url}\"\n  version \"{}\"\n  license any_of: [\"MIT\", \"Apache-2.0\"]\n  \
             depends_on :linux\n\n",
            self.version
        );
        for (target, file) in archives {
            let digest = digest(&self.options.out.join(file))?;
            formula.push_str(&format!(
                "  {} do\n    url \"{url}/{file}\"\n    sha256 \"{digest}\"\n  end\n\n",
                target.brew
            ));
        }
        formula.push_str(
            "  def install\n    bin.install \"cycod\"\n    bash_completion.install \"completions/cycod.bash\" => \"cycod\"\n    \
             zsh_completion.install \"completions/_cycod\"\n    fish_completion.install \"completions/cycod.fish\"\n    \
             man1.install Dir[\"man/*.1\"]\n  end\n\n  test do\n    assert_match version.to_s, \
             shell_output(\"#{bin}/cycod --version\")\n  end\nend\n",
        );
        write(&self.done("cycod.rb"), formula.into_bytes())
    }

    fn checksums(&mut self) -> Step<()> {
        let mut names = self.made.clone();
        names.sort();
        let mut words = vec!["--"];
        words.extend(names.iter().map(String::as_str));
        let sums = run(&self.options.out, "sha256sum", &words)?;
        write(&self.done("SHA256SUMS"), sums)
    }
}

/// Runs a program to its end; what it prints on standard error is the user's.
fn run(directory: &Path, program: &str, words: &[&str]) -> Step<Vec<u8>> {
    let output =
        Command::new(program).args(words).current_dir(directory).stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("`{program}` doesn't start: {error}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("`{program} {}` failed: {}", words.join(" "), output.status)),
    }
}

/// Runs cargo with the linker of a target.
fn cargo(root: &Path, target: &Target, words: &[&str]) -> Step<()> {
    let mut cargo = Command::new("cargo");
    if let Some(linker) = target.linker.filter(|linker| has(linker)) {
        cargo.env(format!("CARGO_TARGET_{}_LINKER", target.triple.replace('-', "_").to_uppercase()), linker);
        cargo.env(format!("CC_{}", target.triple.replace('-', "_")), linker);
    }
    let status = cargo.args(words).current_dir(root).status();
    match status.map_err(|error| format!("`cargo` doesn't start: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("`cargo {}` failed: {status}", words.join(" "))),
    }
}

/// The compiler that cargo uses.
fn compiler() -> String {
    env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned())
}

fn has(program: &str) -> bool {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|directory| directory.join(program).is_file())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

fn write(path: &Path, content: Vec<u8>) -> Step<()> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, content)).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path, mode: u32) -> Step<()> {
    write(to, fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?)?;
    run(Path::new("."), "chmod", &[&format!("{mode:o}"), &text(to)])?;
    Ok(())
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path()).collect();
    files.sort();
    files
}

fn copy_all(from: &Path, to: &Path) -> Step<()> {
    files(from).iter().try_for_each(|file| copy(file, &to.join(file.file_name().unwrap_or_default()), 0o644))
}

/// Packs `name` of a directory, compressed.
fn tar(directory: &Path, name: &str, file: &Path) -> Step<()> {
    tar_with(directory, name, file, &["-I", "gzip -6n"])
}

fn tar_with(directory: &Path, name: &str, file: &Path, more: &[&str]) -> Step<()> {
    let file = text(file);
    let steady = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--format=ustar"];
    run(directory, "tar", &[&steady[..], more, &["-cf", &file, name]].concat())?;
    Ok(())
}

/// The SHA-256 of a file, in hexadecimal digits.
fn digest(path: &Path) -> Step<String> {
    let said = run(Path::new("."), "sha256sum", &[&text(path)])?;
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(said.trim_start_matches('\\').split(' ').next().unwrap_or_default().to_owned())
}

/// Hexadecimal digits as Base64 of the alphabet for addresses, without padding.
fn base64_url(hex: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    // Three digits are twelve bits, which are two letters.
    let mut said = String::new();
    for three in digits.chunks(3) {
        let bits = three.iter().fold(0, |bits, digit| bits << 4 | digit) << (4 * (3 - three.len()));
        let letters = [bits >> 6, bits & 63].map(|index| ALPHABET[index as usize % 64] as char);
        said.extend(&letters[..if three.len() == 1 { 1 } else { 2 }]);
    }
    said
}

/// Whether a program needs no interpreter and no library: its headers name none.
fn is_static(program: &Path) -> Step<()> {
    let bytes = fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let number = |at: usize, length: usize| {
        let bytes = bytes.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0, |number: usize, byte| number << 8 | usize::from(*byte)))
    };
    let interpreter = || {
        let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        Some((0..count).any(|index| number(start + index * size, 4) == Some(3)))
    };
    match interpreter() {
        Some(false) if bytes.starts_with(b"\x7fELF") => Ok(()),
        _ => Err(format!("{}: not a static program for Linux", program.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{base64_url, is_static, options};

    #[test]
    fn digests_as_wheels_have_them() {
        assert_eq!(base64_url("4d616e"), "TWFu");
        assert_eq!(base64_url("4d61"), "TWE");
        assert_eq!(base64_url("fbff"), "-_8");
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(base64_url(empty), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }

    #[test]
    fn only_static_programs_are_packed() {
        assert!(is_static(Path::new("/nothing")).is_err());
        assert!(is_static(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).is_err());
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        assert_eq!(is_static(&std::env::current_exe().expect("this test")), Ok(()));
    }

    #[test]
    fn options_are_checked() {
        let check = |words: &[&str]| options(Path::new("/root"), words).map(|options| options.profile);
        assert_eq!(check(&["--profile", "dev"]), Ok("dev".to_owned()));
        assert!(check(&["--profile"]).is_err());
        assert!(check(&["--what"]).is_err());
    }
}
