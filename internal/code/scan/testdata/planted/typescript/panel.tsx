import { useEffect, useMemo, useState } from "react";

interface Message {
  id: number;
  author: string;
  html: string;
}

interface Props {
  room: string | undefined;
  load(room: string): Promise<Message[]>;
}

export function Clock() {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    setInterval(() => setNow(new Date()), 1000); // bug: interval never cleared
  }, []);
  return <time>It's {now.toLocaleTimeString()}</time>;
}

export function Width() {
  const [width, setWidth] = useState(window.innerWidth);
  useEffect(() => {
    window.addEventListener("resize", () => setWidth(window.innerWidth)); // bug: listener never removed
  }, []);
  return <p>{width} px: don't resize</p>;
}

export function Messages({ room, load }: Props) {
  const [messages, setMessages] = useState<Message[]>([]);
  if (!room) {
    return <p>No room</p>;
  }
  useEffect(() => { // bug: hook after a return
    let here = true;
    void load(room).then((loaded) => {
      if (here) {
        setMessages(loaded);
      }
    });
    return () => {
      here = false;
    };
  }, [room, load]);
  return (
    <ul>
      {messages.map((message) => (
        <li key={message.id} dangerouslySetInnerHTML={{ __html: message.html }} /> // bug: HTML of others
      ))}
    </ul>
  );
}

export function Draft({ load }: Props) {
  const [lines, setLines] = useState<string[]>([]);
  const [loaded, setLoaded] = useState<Message[]>([]);
  useEffect(async () => { // bug: an effect that is async returns no cleanup
    setLoaded(await load("drafts"));
  }, [load]);
  const authors = useMemo(() => new Set(loaded.map((message) => message.author)), [loaded]);
  function add(line: string) {
    lines.push(line); // bug: the state is changed in place
    setLines(lines);
  }
  function drop(index: number) {
    setLines(lines.filter((_, i) => i !== index));
  }
  return (
    <section>
      <button onClick={() => add("…")}>Add</button>
      <button onClick={drop(0)}>Drop</button> {/* bug: called while it is drawn */}
      <p>{[...authors].join(", ")}</p>
    </section>
  );
}

export function Preview({ html }: { html: string }) {
  const [frame, setFrame] = useState<HTMLElement | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    document.addEventListener("keydown", (event) => event.key === "Escape" && frame?.remove(), { signal: stop.signal });
    return () => stop.abort();
  }, [frame]);
  if (frame) {
    frame.innerHTML = html; // bug: HTML of others in the page
  }
  return <article ref={setFrame} />;
}
