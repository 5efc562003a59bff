// The coding agents: how each is started without a person, against a model at
// an address, with toolfold as its only MCP server.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The member adds has what the agent's models add to every call. Each agent takes the folder it may use, the address of the model and the
 * command line of the server, and returns how to start it.
 */
export const agents = {
  claude: {
    package: '@anthropic-ai/claude-code',
    program: '@anthropic-ai/claude-code/cli-wrapper.cjs',
    prepare(dir, model, server) {
      write(dir, 'mcp.json', JSON.stringify({ mcpServers: { toolfold: { command: server[0], args: server.slice(1) } } }));
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
    program: '@openai/codex/bin/codex.js',
    prepare(dir, model, server) {
      write(dir, 'codex/config.toml', `model = "gpt-5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[mcp_servers.toolfold]
command = ${JSON.stringify(server[0])}
args = ${JSON.stringify(server.slice(1))}
default_tools_approval_mode = "approve"
`);
      return {
        args: ['exec', '--skip-git-repo-check', 'use toolfold'],
        env: { CODEX_HOME: join(dir, 'codex'), SCRIPTED_KEY: 'x' },
      };
    },
  },
  gemini: {
    package: '@google/gemini-cli',
    adds: { wait_for_previous: false }, // declared in every tool, and asked for by its system prompt
    program: '@google/gemini-cli/bundle/gemini.js',
    prepare(dir, model, server) {
      write(dir, '.gemini/settings.json', JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } }, telemetry: { enabled: false }, privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true }, mcpServers: { toolfold: { command: server[0], args: server.slice(1), trust: true } },
      }));
      return {
        args: ['--approval-mode=yolo', '-m', 'gemini-2.5-pro', '-p', 'use toolfold'],
        env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'scripted', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
      };
    },
  },
  opencode: {
    package: 'opencode-ai',
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
        mcp: { toolfold: { type: 'local', command: server, enabled: true } },
      }));
      return { args: ['run', 'use toolfold'], env: { OPENCODE_DISABLE_AUTOUPDATE: '1' } };
    },
  },
};

function write(dir, name, content) {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
