// A terminal in which an agent runs as for a person: what is typed, and what it shows.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';

const size = 'stty rows 50 cols 160';
const showMillis = 30_000;

/** Reports whether there is a program that lends a terminal: script, of util-linux. */
export const hasTerminal = spawnSync('script', ['-V']).error === undefined;

export class Terminal {
  #shown = '';

  /** Runs a command line in a folder. */
  constructor(command, dir, env) {
    const line = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    this.child = spawn('script', ['-qefc', `${size}; exec ${line}`, '/dev/null'], {
      cwd: dir, stdio: ['pipe', 'pipe', 'pipe'], detached: true, env: { PATH: process.env.PATH, HOME: dir, TERM: 'xterm-256color', ...env },
    });
    this.child.stdin.on('error', () => {}); // the agent may end first
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (chunk) => { this.#shown += chunk; });
  }

  /** What was shown since a text was begun, without its places, colours and blanks. */
  get shown() {
    return this.#shown.replaceAll(/\x1b\[[0-9;?<>]*[a-zA-Z]|\x1b[\]()][^\x07\x1b]*(\x07|\x1b\\)?|\s/g, '');
  }

  /** Types a text, key by key, as fast as a person. */
  async type(text) {
    this.#shown = ''; // not at every key: what one key has shown, the next need not show again
    for (const key of text) {
      this.child.stdin.write(key);
      await new Promise((over) => { setTimeout(over, 60); });
    }
  }

  /** Waits until a text, in which blanks do not count, is shown. */
  async shows(text) {
    const wanted = text.replaceAll(' ', '');
    for (const end = Date.now() + showMillis; !this.shown.includes(wanted);) {
      if (Date.now() > end) throw new Error(`the terminal does not show "${text}"; it shows ${this.shown.slice(-1000)}`);
      await new Promise((over) => { setTimeout(over, 50); });
    }
  }

  /** Ends the command with all that it started in the terminal, and waits until they are gone: they write into their folder. */
  async close() {
    const own = `/proc/${this.child.pid}/task/${this.child.pid}/children`;
    const leader = existsSync(own) ? readFileSync(own, 'utf8').trim() : '';
    const members = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && leader !== '' && sessionOf(pid) === leader);
    for (const pid of [this.child.pid, ...members]) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch (error) {
        if (error.code !== 'ESRCH') throw error; // it has ended
      }
    }
    for (const end = Date.now() + showMillis; members.some((pid) => sessionOf(pid) === leader);) {
      if (Date.now() > end) throw new Error('what ran in the terminal does not end');
      await new Promise((over) => { setTimeout(over, 20); });
    }
  }
}

/** The session of a process that runs; undefined for one that has ended. */
function sessionOf(pid) {
  try {
    const [state, , , session] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
    return state === 'Z' ? undefined : session;
  } catch {
    return undefined;
  }
}
