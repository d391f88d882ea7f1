/** xterm in an element of the page, in the theme's colours, with as many rows and columns as fit. */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import rules from '@xterm/xterm/css/xterm.css';
import { adoptStyles } from '../../parts/adopt-styles.ts';
import { useStrictElements } from './strict-elements.ts';

export interface TerminalHandler {
  /** Called with keys and pasted text, as bytes. */
  input(bytes: Uint8Array): void;
  resized(columns: number, rows: number): void;
  /** Called when the user presses the key that returns the keyboard to the page. */
  left(): void;
  /** Called when output that arrived faster than it can be drawn was dropped. */
  skipped(bytes: number): void;
}

export interface TerminalView {
  readonly columns: number;
  readonly rows: number;
  write(bytes: Uint8Array): void;
  /** For a process without a terminal, whose lines end with a line feed alone. */
  setPlainOutput(plain: boolean): void;
  setScreenReader(on: boolean): void;
  clear(): void;
  focus(): void;
  dispose(): void;
}

const SCROLLBACK = 10_000;
/** The limit of output that waits to be drawn, in bytes. */
const MOST_WAITING = 8 * 1024 * 1024;

export function openTerminal(host: HTMLElement, label: string, handler: TerminalHandler): TerminalView {
  const ends = [useStrictElements(), adoptStyles(rules)];
  const terminal = new Terminal({
    fontFamily: getComputedStyle(host).getPropertyValue('--mono'),
    fontSize: 13,
    scrollback: SCROLLBACK,
    theme: themeOf(host),
    minimumContrastRatio: 4.5,
    // Links in a container's output open nothing in the browser.
    linkHandler: { activate: () => undefined },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(host);
  terminal.textarea?.setAttribute('aria-label', label);
  const encoder = new TextEncoder();
  terminal.onData((text) => handler.input(encoder.encode(text)));
  terminal.onBinary((text) => handler.input(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => handler.resized(cols, rows));
  terminal.attachCustomKeyEventHandler(({ key, ctrlKey, shiftKey, type }) => {
    if (key !== ' ' || !ctrlKey || !shiftKey) return true;
    if (type === 'keydown') handler.left();
    return false;
  });
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(host);
  fit.fit();
  let waiting = 0;
  return {
    get columns() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    write(bytes) {
      if (waiting > MOST_WAITING) return handler.skipped(bytes.length);
      waiting += bytes.length;
      terminal.write(bytes, () => (waiting -= bytes.length));
    },
    setPlainOutput: (plain) => void (terminal.options.convertEol = plain),
    setScreenReader: (on) => void (terminal.options.screenReaderMode = on),
    clear: () => terminal.reset(),
    focus: () => terminal.focus(),
    dispose() {
      observer.disconnect();
      terminal.dispose();
      for (const end of ends) end();
    },
  };
}

/** xterm's colours, made readable by its minimum contrast ratio. */
function themeOf(host: HTMLElement): Readonly<Record<string, string>> {
  const style = getComputedStyle(host);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: colour('--surface'),
    foreground: colour('--text'),
    cursor: colour('--text'),
    cursorAccent: colour('--surface'),
    selectionBackground: colour('--selected'),
    black: colour('--dim'),
    red: colour('--bad'),
    green: colour('--good'),
    yellow: colour('--busy'),
    blue: colour('--accent'),
  };
}
