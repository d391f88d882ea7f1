/** Messages of the control connection: the client sends one line, the instance answers with lines of JSON. */

/** The commands that a running instance serves. */
export interface ControlHandlers {
  /** The whole status at once. */
  status(): Promise<object>;
  /** Progress lines; the last one is whether the instance is ready or has failed. */
  progress(send: (line: ProgressLine) => void): () => void;
  /** Begins an orderly stop. */
  stop(): void;
  /** Makes a snapshot of the store in its fixed place in the data directory. */
  snapshot(): Promise<void>;
  /** Does what a user asks of a further node of this machine; resolves to the line about it. */
  node(action: string, name: string): Promise<string>;
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
