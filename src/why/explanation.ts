/**
 * The answer to "why is this object as it is": its causes, each down to the first one, with what would cure it. The command
 * line, the test library and programs read the same answer. No counterpart upstream.
 */

/** An object by the words a command takes: `pod`, its namespace where it has one, its name. */
export interface ObjectName {
  /** Lower-case singular of the resource, with the group where the core group has none such: `pod`, `widget.example.com`. */
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** What would end a cause. */
export interface Cure {
  readonly text: string;
  /** A command that does it, or begins to. */
  readonly command?: string;
}

/** One reason, of one object. */
export interface Cause {
  /** Stable identifier, listed in docs/why.md: `ImagePull`, `SecretMissing`. */
  readonly code: string;
  /** The object at fault. */
  readonly object: ObjectName;
  /** One sentence without a full stop. */
  readonly message: string;
  /** RFC 3339. */
  readonly since?: string;
  /** When the component tries again. RFC 3339. */
  readonly nextTry?: string | undefined;
  /** What was seen, word for word: messages of the runtime, exit codes, last log lines. */
  readonly facts?: readonly string[] | undefined;
  readonly cure?: Cure | undefined;
  /** What is behind it; empty for a first cause. */
  readonly because: readonly Cause[];
}

/**
 * - `Fine`: it does what its specification asks for.
 * - `Progressing`: it is on its way, and nothing is known to stop it.
 * - `Trouble`: the causes say what keeps it.
 * - `Unknown`: it is not as asked for, and nothing that was looked at says why.
 */
export type State = 'Fine' | 'Progressing' | 'Trouble' | 'Unknown';

/** What an explainer found out about an object. */
export interface Diagnosis {
  readonly state: State;
  /** One sentence without a full stop, of which the object is the subject: `runs on node-1 and is ready`. */
  readonly summary: string;
  /** Most important first. */
  readonly causes: readonly Cause[];
}

/** A condition of the object, with words where its component leaves them out. */
export interface ShownCondition {
  readonly type: string;
  readonly status: string;
  /** As the component writes it; absent where it writes none. */
  readonly reason?: string;
  /** What the component says, else what the condition means. */
  readonly message?: string;
  /** When it changed last. RFC 3339. */
  readonly since?: string;
}

/** The whole answer. */
export interface Explanation extends Diagnosis {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'Explanation';
  readonly object: ObjectName;
  /** Conditions of the object itself, those in trouble as well; absent where it has none. */
  readonly conditions?: readonly ShownCondition[] | undefined;
  /** What was read: `events of pod/web-1`. */
  readonly lookedAt: readonly string[];
  /** What the caller may not read, or what the server does not serve: causes may hide there. */
  readonly notReadable: readonly string[];
}

/** Explanations of several objects: those that are in trouble, or of which nothing is known. */
export interface ExplanationList {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'ExplanationList';
  readonly items: readonly Explanation[];
  /** Objects that were not looked at for their number. */
  readonly notLookedAt: number;
}

/** A cause; without `because` a first one. */
export function cause(parts: Omit<Cause, 'because'> & { readonly because?: readonly Cause[] }): Cause {
  return { ...parts, because: parts.because ?? [] };
}

/** The causes at the ends of the chains, most important first. */
export function firstCauses(causes: readonly Cause[]): readonly Cause[] {
  return causes.flatMap((each) => (each.because.length === 0 ? [each] : firstCauses(each.because)));
}

/** `kind/name`, or `kind/namespace/name`. */
export function objectText({ kind, namespace, name }: ObjectName): string {
  return namespace === undefined || namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}
