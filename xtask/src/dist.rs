//! What a release consists of: the program in the form of each package manager, with completions, man pages, checksums and a
//! list of what it is made of.
//!
//! Files are written in one order, without the time and the user of the build, so the same program gives the same packages.
//! Programs of the system do the packing; the report names what is left out where one is missing.

mod target;
mod windows;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use self::target::{System, TARGETS, Target};
use crate::order;

const SHELLS: [(&str, &str); 4] =
    [("bash", "cycod.bash"), ("zsh", "_cycod"), ("fish", "cycod.fish"), ("powershell", "_cycod.ps1")];

/// What every archive has beside the program.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// What the program is for, in a line.
const ABOUT: &str = "Tools for people and language models, written once in a small file";

const LICENSE: &str = "MIT OR Apache-2.0";

const NEEDS_URL: &str = "needs --url, the address of the release's files";

/// What is asked for.
struct Options {
    profile: String,
    out: PathBuf,
    /// Where the files of the release will be; without it, nothing that names them.
    url: Option<String>,
    /// Programs that were built elsewhere, for macOS and Windows.
    programs: Vec<(&'static Target, PathBuf)>,
}

type Step<T> = Result<T, String>;

/// Builds the packages; the error holds what is wrong.
pub(crate) fn dist(root: &Path, arguments: &[&str]) -> Result<String, Vec<String>> {
    let options = options(root, arguments).map_err(|why| vec![why])?;
    build(root, &options).map_err(|why| vec![why])
}

fn options(root: &Path, arguments: &[&str]) -> Step<Options> {
    let mut options =
        Options { profile: "release".to_owned(), out: root.join("target/dist"), url: None, programs: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().map(|value| (*value).to_owned()).ok_or(format!("`{word}` needs a value"));
        match *word {
            "--profile" => options.profile = value()?,
            "--out" => options.out = env::current_dir().unwrap_or_default().join(value()?),
            "--url" => options.url = Some(value()?.trim_end_matches('/').to_owned()),
            "--program" => {
                let program = env::current_dir().unwrap_or_default().join(value()?);
                options.programs.push((Target::of(&program)?, program));
            }
            _ => {
                let usage = "cargo xtask dist [--profile NAME] [--out DIR] [--url URL] [--program FILE]...";
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
    let pages = release.pages(&host, output)?;
    let mut archives = Vec::new();
    for target in &TARGETS {
        match release.program(target, &host, output) {
            Ok(program) => archives.push((target, release.packages(target, &program, &pages, &metadata)?)),
            Err(Missing::Here(why)) => release.left_out.push(format!("{}: {why}", target.triple)),
            Err(Missing::Failed(why)) => return Err(why),
        }
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

/// Why there is no program for a platform.
enum Missing {
    /// It can't be made here; the release goes without it.
    Here(String),
    /// What should have made it failed.
    Failed(String),
}

impl From<String> for Missing {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Why cargo can't build for a platform here.
fn can_build(root: &Path, target: &Target, host: &str) -> Result<(), Missing> {
    if target.triple == host {
        return Ok(());
    }
    if target.system != System::Linux {
        let script = if target.system == System::Windows { "windows" } else { "macos" };
        let from = format!("it needs --program, with a program that `sh scripts/{script}.sh` builds");
        return Err(Missing::Here(from));
    }
    let libraries = run(root, &compiler(), &["--print", "target-libdir", "--target", target.triple])?;
    if !Path::new(String::from_utf8_lossy(&libraries).trim()).exists() {
        return Err(Missing::Here(format!("its standard library is missing: rustup target add {}", target.triple)));
    }
    match target.linker {
        Some(linker) if !has(linker) => Err(Missing::Here(format!("`{linker}` is missing"))),
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

    /// The program for a platform: one that was given, or one that cargo builds.
    fn program(&self, target: &Target, host: &str, output: &str) -> Result<PathBuf, Missing> {
        if let Some((_, given)) = self.options.programs.iter().find(|(for_, _)| for_.triple == target.triple) {
            return Ok(given.clone());
        }
        can_build(self.root, target, host)?;
        let profile = &self.options.profile;
        cargo(
            self.root,
            target,
            &["build", "--locked", "-p", "cycod", "--profile", profile, "--target", target.triple],
        )?;
        let folder = if profile == "dev" { "debug" } else { profile };
        let built = Path::new(output).join(target.triple).join(folder).join("cycod");
        let program = self.stage(&format!("program/{}", target.triple))?.join("cycod");
        let strip = if target.triple == host { None } else { target.linker };
        let strip = strip.map_or("strip".to_owned(), |linker| linker.replace("gcc", "strip"));
        run(self.root, &strip, &["-o", &text(&program), &text(&built)])?;
        target::is_static(&program)?;
        Ok(program)
    }

    /// Completions and man pages. Only a program of this machine can print them; the others have the same.
    fn pages(&self, host: &str, output: &str) -> Step<PathBuf> {
        let here = TARGETS.iter().find(|target| target.triple == host);
        let here = here.ok_or_else(|| format!("no release is made on {host}: it is none of its platforms"))?;
        let program = self.program(here, host, output).map_err(|(Missing::Here(why) | Missing::Failed(why))| why)?;
        let pages = self.stage("pages")?;
        for (shell, name) in SHELLS {
            let script = run(self.root, &text(&program), &["completions", shell])?;
            write(&pages.join("completions").join(name), script)?;
        }
        run(self.root, &text(&program), &["man", "--output", &text(&pages.join("man"))])?;
        Ok(pages)
    }

    /// All packages of a platform; says the name of its archive.
    fn packages(&mut self, target: &Target, program: &Path, pages: &Path, metadata: &Value) -> Step<String> {
        if target.system == System::Linux {
            self.debian(target, program, pages)?;
            self.image(target, program)?;
        }
        self.npm_platform(target, program)?;
        self.wheel(target, program)?;
        self.bill(target, metadata)?;
        self.archive(target, program, pages)
    }

    fn archive(&mut self, target: &Target, program: &Path, pages: &Path) -> Step<String> {
        let name = format!("cycod-{}-{}", self.version, target.triple);
        let stage = self.stage("archive")?;
        let content = stage.join(&name);
        copy(program, &content.join(target.program()), 0o755)?;
        for file in DOCUMENTS {
            copy(&self.root.join(file), &content.join(file), 0o644)?;
        }
        if target.system == System::Windows {
            copy(&pages.join("completions/_cycod.ps1"), &content.join("completions/_cycod.ps1"), 0o644)?;
            return self.windows(&stage, &name);
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
        let stage = self.stage(&format!("deb/{}", target.architecture()))?;
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
            self.version,
            target.architecture()
        );
        write(&stage.join("DEBIAN/control"), control.into_bytes())?;
        let file = self.done(&format!("cycod_{}_{}.deb", self.version, target.architecture()));
        run(self.root, "dpkg-deb", &["--build", "--root-owner-group", &text(&stage), &text(&file)])?;
        Ok(())
    }

    /// The package with the program of one platform; the main package takes the one that fits.
    fn npm_platform(&mut self, target: &Target, program: &Path) -> Step<()> {
        let (system, processor) = target.npm();
        let name = target.npm_package();
        let stage = self.stage(&format!("npm/{name}"))?;
        let file = format!("bin/{}", target.program());
        copy(program, &stage.join("package").join(&file), 0o755)?;
        let manifest = json!({
            "name": name, "version": self.version, "license": LICENSE, "os": [system], "cpu": [processor],
            "description": format!("cycod for {system} on {processor}"), "files": [file],
        });
        write(&stage.join("package/package.json"), pretty(&manifest))?;
        tar(&stage, "package", &self.done(&format!("{name}-{}.tgz", self.version)))
    }

    fn npm_main(&mut self, archives: &[(&Target, String)]) -> Step<()> {
        let stage = self.stage("npm/main")?;
        let platforms: serde_json::Map<String, Value> =
            archives.iter().map(|(target, _)| (target.npm_package(), json!(self.version))).collect();
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
        let stage = self.stage(&format!("wheel/{}", target.triple))?;
        let (name, info) = (format!("cycod-{}", self.version), format!("cycod-{}.dist-info", self.version));
        let script = format!("{name}.data/scripts/{}", target.program());
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
        for file in [script.clone(), format!("{info}/METADATA"), format!("{info}/WHEEL")] {
            let path = stage.join(&file);
            let size = fs::metadata(&path).map(|metadata| metadata.len()).unwrap_or_default();
            record.push_str(&format!("{file},sha256={},{size}\n", base64_url(&digest(&path)?)));
        }
        record.push_str(&format!("{info}/RECORD,,\n"));
        write(&stage.join(&info).join("RECORD"), record.into_bytes())?;
        let files = ["METADATA", "WHEEL", "RECORD"].map(|file| format!("{info}/{file}"));
        let [about, tags, record] = files.each_ref().map(String::as_str);
        self.zip(&stage, &format!("{name}-py3-none-{}.whl", target.wheel), &[&script, about, tags, record])
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
    fn windows(&mut self, stage: &Path, name: &str) -> Step<String> {
        let file = format!("{name}.zip");
        if !self.can("zip", "the archive for Windows") {
            return Ok(file);
        }
        self.zip(stage, &file, &[name])?;
        let Some(url) = &self.options.url else {
            self.left_out.push(format!("the files for scoop and winget: {NEEDS_URL}"));
            return Ok(file);
        };
        let digest = digest(&self.options.out.join(&file))?;
        let archive =
            windows::Archive { version: self.version, about: ABOUT, license: LICENSE, url, name, digest: &digest };
        write(&self.done("cycod.json"), pretty(&archive.scoop()))?;
        // JSON is YAML.
        let mut files = archive.winget().into_iter();
        files.try_for_each(|(name, file)| write(&self.done(&format!("winget/{name}")), pretty(&file)))?;
        Ok(file)
    }

    /// An image with the program alone, to copy it from or to begin with.
    fn image(&mut self, target: &Target, program: &Path) -> Step<()> {
        let stage = self.stage(&format!("oci/{}", target.architecture()))?;
        copy(program, &stage.join("root/usr/bin/cycod"), 0o755)?;
        let (plain, packed) = (stage.join("layer.tar"), stage.join("layer.tar.gz"));
        tar_with(&stage.join("root"), "usr", &plain, &[])?;
        tar(&stage.join("root"), "usr", &packed)?;
        let config = json!({
            "architecture": target.architecture(), "os": "linux", "config": {"Entrypoint": ["/usr/bin/cycod"], "Env": ["PATH=/usr/bin:/bin"]},
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
        manifest["platform"] = json!({"architecture": target.architecture(), "os": "linux"});
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
            "class Cycod < Formula\n  desc \"{ABOUT}\"\n  homepage \"{url}\"\n  version \"{}\"\n  \
             license any_of: [\"MIT\", \"Apache-2.0\"]\n\n",
            self.version
        );
        for (target, file) in archives {
            let Some((system, processor)) = target.brew() else { continue };
            let digest = digest(&self.options.out.join(file))?;
            formula.push_str(&format!(
                "  {system} do\n    {processor} do\n      url \"{url}/{file}\"\n      sha256 \"{digest}\"\n    end\n  end\n\n",
            ));
        }
        if archives.iter().all(|(target, _)| target.system == System::Linux) {
            formula.push_str("  depends_on :linux\n\n");
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{base64_url, options};

    #[test]
    fn digests_as_wheels_have_them() {
        assert_eq!(base64_url("4d616e"), "TWFu");
        assert_eq!(base64_url("4d61"), "TWE");
        assert_eq!(base64_url("fbff"), "-_8");
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(base64_url(empty), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }

    #[test]
    fn options_are_checked() {
        let check = |words: &[&str]| options(Path::new("/root"), words).map(|options| options.profile);
        assert_eq!(check(&["--profile", "dev"]), Ok("dev".to_owned()));
        assert!(check(&["--profile"]).is_err());
        assert!(check(&["--what"]).is_err());
        let no_program = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(check(&["--program", no_program]).is_err_and(|why| why.contains("not a program for a platform")));
    }
}
