use std::path::Path;

use cycod_definition::Platform;
use cycod_settings::{HOSTS, McpHost};
use expect_test::expect;

use crate::support::host;

/// The paths of other systems are none on Windows.
#[test]
#[cfg(unix)]
fn every_host_has_its_files_on_every_platform() {
    let mut text = String::new();
    for of in HOSTS {
        for (platform, home, environment) in [
            (Platform::Linux, "/home/ada", &[][..]),
            (Platform::Macos, "/Users/ada", &[("APPDATA", "/not/here"), ("XDG_CONFIG_HOME", "/cfg")]),
            (Platform::Windows, "C:/Users/ada", &[("AppData", "C:/Users/ada/AppData/Roaming")]),
        ] {
            let host = host(platform, Path::new(home), Path::new("/p"), environment);
            text += &format!("{} {}\n", of.name, of.user_file(&host).display());
        }
        let project = of.project_file(Path::new("/p")).map_or("none".to_owned(), |path| path.display().to_string());
        text += &format!("{} {project}\n", of.name);
    }
    expect![[r#"
        claude-code /home/ada/.claude.json
        claude-code /Users/ada/.claude.json
        claude-code C:/Users/ada/.claude.json
        claude-code /p/.mcp.json
        claude-desktop /home/ada/.config/Claude/claude_desktop_config.json
        claude-desktop /Users/ada/Library/Application Support/Claude/claude_desktop_config.json
        claude-desktop C:/Users/ada/AppData/Roaming/Claude/claude_desktop_config.json
        claude-desktop none
        cursor /home/ada/.cursor/mcp.json
        cursor /Users/ada/.cursor/mcp.json
        cursor C:/Users/ada/.cursor/mcp.json
        cursor /p/.cursor/mcp.json
        vscode /home/ada/.config/Code/User/mcp.json
        vscode /Users/ada/Library/Application Support/Code/User/mcp.json
        vscode C:/Users/ada/AppData/Roaming/Code/User/mcp.json
        vscode /p/.vscode/mcp.json
        codex /home/ada/.codex/config.toml
        codex /Users/ada/.codex/config.toml
        codex C:/Users/ada/.codex/config.toml
        codex /p/.codex/config.toml
        gemini-cli /home/ada/.gemini/settings.json
        gemini-cli /Users/ada/.gemini/settings.json
        gemini-cli C:/Users/ada/.gemini/settings.json
        gemini-cli /p/.gemini/settings.json
        zed /home/ada/.config/zed/settings.json
        zed /Users/ada/.config/zed/settings.json
        zed C:/Users/ada/AppData/Roaming/Zed/settings.json
        zed /p/.zed/settings.json
        windsurf /home/ada/.codeium/windsurf/mcp_config.json
        windsurf /Users/ada/.codeium/windsurf/mcp_config.json
        windsurf C:/Users/ada/.codeium/windsurf/mcp_config.json
        windsurf none
        kiro /home/ada/.kiro/settings/mcp.json
        kiro /Users/ada/.kiro/settings/mcp.json
        kiro C:/Users/ada/.kiro/settings/mcp.json
        kiro /p/.kiro/settings/mcp.json
        copilot-cli /home/ada/.copilot/mcp-config.json
        copilot-cli /Users/ada/.copilot/mcp-config.json
        copilot-cli C:/Users/ada/.copilot/mcp-config.json
        copilot-cli none
        cline /home/ada/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json
        cline /Users/ada/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json
        cline C:/Users/ada/AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json
        cline none
        opencode /home/ada/.config/opencode/opencode.json
        opencode /cfg/opencode/opencode.json
        opencode C:/Users/ada/.config/opencode/opencode.json
        opencode /p/opencode.json
        goose /home/ada/.config/goose/config.yaml
        goose /Users/ada/.config/goose/config.yaml
        goose C:/Users/ada/AppData/Roaming/Block/goose/config/config.yaml
        goose none
        junie /home/ada/.junie/mcp/mcp.json
        junie /Users/ada/.junie/mcp/mcp.json
        junie C:/Users/ada/.junie/mcp/mcp.json
        junie /p/.junie/mcp/mcp.json
    "#]]
    .assert_eq(&text.replace('\\', "/"));
}

#[test]
#[cfg(unix)]
fn the_environment_moves_files() {
    let check = |name: &str, environment: &[(&str, &str)], expected: &str| {
        let host = host(Platform::Linux, Path::new("/h"), Path::new("/p"), environment);
        let path = McpHost::named(name).expect("it is known").user_file(&host);
        assert_eq!(path.to_string_lossy().replace('\\', "/"), expected);
    };
    check("claude-code", &[("CLAUDE_CONFIG_DIR", "/c")], "/c/.claude.json");
    check("claude-code", &[("CLAUDE_CONFIG_DIR", "")], "/h/.claude.json");
    check("codex", &[("CODEX_HOME", "/c")], "/c/config.toml");
    check("zed", &[("XDG_CONFIG_HOME", "/c")], "/c/zed/settings.json");
    check("vscode", &[("XDG_CONFIG_HOME", "relative")], "/h/.config/Code/User/mcp.json");
}
