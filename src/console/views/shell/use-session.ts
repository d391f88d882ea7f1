/** A terminal and its session, while they are shown. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ObjectRef } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';
import { type ShellChoice, wordsOf } from './choice.ts';
import { openSession, type Session, type SessionEnd, type SessionOrder, SHELLS } from './exec-session.ts';
import { openTerminal, type TerminalView } from './terminal.ts';

/** The byte of the Enter key, which restarts a session that has ended. */
const ENTER = 13;

export type SessionState = { readonly kind: 'opening' | 'open' } | { readonly kind: 'ended'; readonly end: SessionEnd };

interface Wanted {
  readonly pod: ObjectRef;
  readonly choice: ShellChoice;
  readonly host: RefObject<HTMLDivElement | null>;
  /** Returns the keyboard to the page. */
  leave(): void;
}

interface ShownSession {
  readonly state: SessionState;
  /** The number of dropped bytes of output. */
  readonly skipped: number;
  open(): void;
  end(): void;
  setScreenReader(on: boolean): void;
}

export function useSession({ pod, choice, host, leave }: Wanted): ShownSession {
  const [state, setState] = useState<SessionState>({ kind: 'opening' });
  const [skipped, setSkipped] = useState(0);
  const terminal = useRef<TerminalView>(undefined);
  const session = useRef<Session>(undefined);
  const hasEnded = useRef(false);
  const finish = (end: SessionEnd): void => {
    hasEnded.current = true;
    setState({ kind: 'ended', end });
  };
  const open = (): void => {
    const view = terminal.current;
    if (view === undefined) return;
    session.current?.close();
    view.clear();
    view.setPlainOutput(choice.mode === 'attach' && !choice.tty);
    view.focus();
    hasEnded.current = false;
    setState({ kind: 'opening' });
    session.current = openSession(orderOf(pod, choice), {
      output: view.write,
      opened() {
        setState({ kind: 'open' });
        session.current?.resize(view.columns, view.rows);
      },
      ended: finish,
    });
  };
  const end = (): void => {
    session.current?.close();
    finish({ kind: 'success' });
  };
  useEffect(() => {
    if (host.current === null) return undefined;
    terminal.current = openTerminal(host.current, texts.terminal.label, {
      input(bytes) {
        if (!hasEnded.current) session.current?.input(bytes);
        else if (bytes.length === 1 && bytes[0] === ENTER) open();
      },
      resized: (columns, rows) => session.current?.resize(columns, rows),
      left: leave,
      skipped: (bytes) => setSkipped((before) => before + bytes),
    });
    open();
    return () => {
      session.current?.close();
      terminal.current?.dispose();
    };
  }, []);
  return { state, skipped, open, end, setScreenReader: (on) => terminal.current?.setScreenReader(on) };
}

function orderOf(pod: ObjectRef, { container, mode, command, tty, stdin }: ShellChoice): SessionOrder {
  if (mode === 'attach') return { pod, container, commands: [], tty, stdin };
  const words = wordsOf(command);
  return { pod, container, commands: words.length === 0 ? SHELLS : [words], tty: true, stdin: true };
}
