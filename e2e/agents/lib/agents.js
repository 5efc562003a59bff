// The coding agents: how each is started without a person, against a model at
// an address, with toolfold as its only MCP server, or with none.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The member adds has what the agent's models add to every call. Each agent takes the folder it may use, the address of the model, the
 * command line of the server (null for no server) and the name of a model where it knows several, and returns how to start it;
 * settings is the file in that folder that has its servers. Search is the call by which a model finds tools that it was not sent, approve has
 * arguments by which a person approves of toolfold.
 */
export const agents = {
  claude: {
    package: '@anthropic-ai/claude-code',
    settings: 'mcp.json',
    program: '@anthropic-ai/claude-code/cli-wrapper.cjs',
    prepare(dir, model, server) {
      write(dir, 'mcp.json', JSON.stringify({ mcpServers: plain(server) }));
      return {
        args: ['-p', 'use toolfold', '--mcp-config', 'mcp.json', '--strict-mcp-config', '--allowedTools', 'mcp__toolfold'],
        env: {
          ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'sk-ant-scripted', CLAUDE_CONFIG_DIR: join(dir, 'claude'),
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', ENABLE_TOOL_SEARCH: 'false',
        },
      };
    },
  },
  codex: {
    package: '@openai/codex',
    settings: 'codex/config.toml',
    approve: ['-c', 'mcp_servers.toolfold.default_tools_approval_mode="approve"'], // approvals of a server are of that server
    program: '@openai/codex/bin/codex.js',
    prepare(dir, model, server, named = 'gpt-5') {
      // It waits a second for the tools of a server, unless the server is required.
      write(dir, 'codex/config.toml', `model = "${named}"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
${server ? `[mcp_servers.toolfold]
command = ${JSON.stringify(server[0])}
args = ${JSON.stringify(server.slice(1))}
default_tools_approval_mode = "approve"
required = true
startup_timeout_sec = 120
` : ''}`);
      return {
        args: ['exec', '--skip-git-repo-check', 'use toolfold'],
        env: { CODEX_HOME: join(dir, 'codex'), SCRIPTED_KEY: 'x' },
      };
    },
  },
  gemini: {
    package: '@google/gemini-cli',
    settings: '.gemini/settings.json',
    adds: { wait_for_previous: false }, // declared in every tool, and asked for by its system prompt
    program: '@google/gemini-cli/bundle/gemini.js',
    prepare(dir, model, server) {
      write(dir, '.gemini/settings.json', JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } }, telemetry: { enabled: false }, privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true }, mcpServers: plain(server, { trust: true }),
      }));
      return {
        args: ['--approval-mode=yolo', '-m', 'gemini-2.5-pro', '-p', 'use toolfold'],
        env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'scripted', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
      };
    },
  },
  opencode: {
    package: 'opencode-ai',
    settings: 'opencode.json',
    program: `opencode-${process.platform}-${process.arch}/bin/opencode`, // install scripts are not run
    prepare(dir, model, server) {
      write(dir, 'opencode.json', JSON.stringify({
        model: 'scripted/scripted', small_model: 'scripted/scripted', share: 'disabled', autoupdate: false,
        provider: {
          scripted: {
            npm: '@ai-sdk/openai-compatible', name: 'Scripted', options: { baseURL: `${model}/v1`, apiKey: 'x' },
            models: { scripted: { name: 'Scripted', tool_call: true, limit: { context: 200000, output: 8000 } } },
          },
        },
        mcp: server ? { toolfold: { type: 'local', command: server, enabled: true } } : {},
      }));
      return { args: ['run', 'use toolfold'], env: { OPENCODE_DISABLE_AUTOUPDATE: '1' } };
    },
  },
  qwen: {
    package: '@qwen-code/qwen-code',
    settings: '.qwen/settings.json',
    search: (names) => ['tool_search', { query: `select:${names.map((name) => `mcp__toolfold__${name}`)}` }], // it defers tools
    program: '@qwen-code/qwen-code/cli.js',
    prepare(dir, model, server) {
      write(dir, '.qwen/settings.json', JSON.stringify({
        security: { auth: { selectedType: 'openai' } }, telemetry: { enabled: false }, privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true }, mcpServers: plain(server),
      }));
      return { args: ['--yolo', '-p', 'use toolfold'], env: { OPENAI_API_KEY: 'x', OPENAI_BASE_URL: `${model}/v1`, OPENAI_MODEL: 'qwen3-coder-plus' } };
    },
  },
  copilot: {
    package: '@github/copilot',
    settings: '.copilot/mcp-config.json',
    program: '@github/copilot/npm-loader.js',
    prepare(dir, model, server) {
      write(dir, '.copilot/mcp-config.json', JSON.stringify({ mcpServers: plain(server, { type: 'local', tools: ['*'] }) }));
      return {
        args: ['--allow-all-tools', '--no-auto-update', '--disable-builtin-mcps', '-p', 'use toolfold'],
        env: {
          COPILOT_PROVIDER_BASE_URL: `${model}/v1`, COPILOT_PROVIDER_API_KEY: 'x', COPILOT_MODEL: 'scripted', COPILOT_OFFLINE: 'true',
        },
      };
    },
  },
  cline: {
    package: 'cline',
    settings: '.cline/data/settings/cline_mcp_settings.json',
    program: 'cline/bin/cline',
    prepare(dir, model, server) {
      write(dir, '.cline/data/settings/cline_mcp_settings.json', JSON.stringify({
        mcpServers: server ? { toolfold: { transport: { type: 'stdio', command: server[0], args: server.slice(1) } } } : {},
      }));
      return {
        before: ['auth', '-p', 'openai', '-k', 'x', '-m', 'gpt-4.1', '-b', `${model}/v1`],
        args: ['--json', '--auto-approve', 'true', '-t', '90', 'use toolfold'], env: {},
      };
    },
  },
};

/** The list of servers as most agents have it. */
function plain(server, more = {}) {
  return server ? { toolfold: { command: server[0], args: server.slice(1), ...more } } : {};
}

function write(dir, name, content) {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
