/** Messages of the control connection: the client sends one line, the instance responds with lines of JSON. */

/** The commands that a running instance serves. */
export interface ControlHandlers {
  /** Returns the current status. */
  status(): Promise<object>;
  /** Reports progress lines; the last says whether the instance is ready or has failed. */
  progress(send: (line: ProgressLine) => void): () => void;
  /** Starts an orderly stop. */
  stop(): void;
  /** Writes a snapshot of the store to a fixed path in the data directory. */
  snapshot(): Promise<void>;
  /** Applies a user's action to a further node of this machine; resolves to a line for the user. */
  node(action: string, name: string): Promise<string>;
  /** Moves the state to the store that the text describes; resolves to a line for the user. */
  moveStore(text: string, report: (line: string) => void): Promise<string>;
}

/** A step of the start-up. */
export interface ProgressLine {
  readonly phase: string;
  readonly done: boolean;
  readonly elapsedMs: number;
  /** Set on the last line. */
  readonly outcome?: 'ready' | 'failed';
  readonly error?: string;
}
