import { useEffect } from "react";
import { exec, execFile, execSync, spawn } from "node:child_process";

export function Clock({ name, go }: { name: string; go: () => void }) {
  useEffect(() => {
    setInterval(go, 1000); // want js/interval-not-cleared
    window.addEventListener("scroll", go); // want js/listener-not-removed
    window.addEventListener("load", go, { once: true });
  }, []);
  return (
    <div>
      <h1>http://localhost/ {eval(name)}</h1> {/* want js/eval */}
      <p>it`s, don't panic: eval(name) /* debugger */</p>
      <p>Don't panic</p>{eval(name)} {/* want js/eval */}
      <button title="eval(name)" onClick={() => { go(); }}>a == b // FIXME no comment</button>
      {/* FIXME a comment // want js/fixme-comment */}
    </div>
  );
}

export async function commands(name: string) {
  exec(`convert ${name}`); // want js/shell-command
  execSync("ls " + name); // want js/shell-command
  spawn(name + " -l", { shell: true }); // want js/shell-command
  spawn("ls", [name]);
  execFile("ls", [name]);
  exec("ls -l");
  /eval(x)/.exec(name);
  if (name) /eval("no")/.test(name);
  const n = 4 / 2; const m = n / 2; eval(name); // want js/eval
  return m;
}
