/**
 * An explanation of an object: its causes, each down to the first one, with their cures. The command line, the test library and
 * other programs read the same type. No counterpart upstream.
 */

/** An object by the words of a command: its kind, its namespace (if it has one), its name. */
export interface ObjectName {
  /** The singular of the resource in lower case, with the group unless it is common: `pod`, `widget.example.com`. */
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** The remedy of a cause. */
export interface Cure {
  readonly text: string;
  /** A command that is the remedy, or its first step. */
  readonly command?: string;
}

/** One reason, with the object that it concerns. */
export interface Cause {
  /** Stable identifier, listed in docs/why.md: `ImagePull`, `SecretMissing`. */
  readonly code: string;
  /** The object with the fault. */
  readonly object: ObjectName;
  /** One sentence without a full stop. */
  readonly message: string;
  /** RFC 3339. */
  readonly since?: string;
  /** The time of the component's next attempt. RFC 3339. */
  readonly nextTry?: string | undefined;
  /** Literal facts: messages of the runtime, exit codes, last log lines. */
  readonly facts?: readonly string[] | undefined;
  readonly cure?: Cure | undefined;
  /** The causes of this cause; empty for a first cause. */
  readonly because: readonly Cause[];
}

/**
 * - `Fine`: the object does what its spec asks for.
 * - `Progressing`: it is changing towards its spec, and no obstacle is known.
 * - `Trouble`: the causes are the obstacles.
 * - `Unknown`: it differs from its spec, and no reason was found.
 */
export type State = 'Fine' | 'Progressing' | 'Trouble' | 'Unknown';

/** An explainer's findings about an object. */
export interface Diagnosis {
  readonly state: State;
  /** One sentence without a full stop, whose subject is the object: `runs on node-1 and is ready`. */
  readonly summary: string;
  /** The most important first. */
  readonly causes: readonly Cause[];
}

/** A condition of the object, with a message even when its component writes none. */
export interface ShownCondition {
  readonly type: string;
  readonly status: string;
  /** The component's reason; absent when it writes none. */
  readonly reason?: string;
  /** The component's message, else the meaning of the condition. */
  readonly message?: string;
  /** The time of the last transition. RFC 3339. */
  readonly since?: string;
}

/** A complete explanation. */
export interface Explanation extends Diagnosis {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'Explanation';
  readonly object: ObjectName;
  /** All conditions of the object, also those in trouble; absent when it has none. */
  readonly conditions?: readonly ShownCondition[] | undefined;
  /** The objects that were read: `events of pod/web-1`. */
  readonly lookedAt: readonly string[];
  /** Objects that the caller may not read, or that the server does not serve; further causes may lie there. */
  readonly notReadable: readonly string[];
}

/** Explanations of the objects of a list that are in trouble or whose state is unknown. */
export interface ExplanationList {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'ExplanationList';
  readonly items: readonly Explanation[];
  /** The number of objects beyond the limit, which were not examined. */
  readonly notLookedAt: number;
}

/** Creates a cause; without `because` it is a first cause. */
export function cause(parts: Omit<Cause, 'because'> & { readonly because?: readonly Cause[] }): Cause {
  return { ...parts, because: parts.because ?? [] };
}

/** The first causes, at the ends of the chains, the most important first. */
export function firstCauses(causes: readonly Cause[]): readonly Cause[] {
  return causes.flatMap((each) => (each.because.length === 0 ? [each] : firstCauses(each.because)));
}

/** `kind/name`, or `kind/namespace/name` for a namespaced object. */
export function objectText({ kind, namespace, name }: ObjectName): string {
  return namespace === undefined || namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}
