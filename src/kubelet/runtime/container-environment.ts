/**
 * The environment of one container: its own variables over those of services, which all containers of a namespace
 * share.
 *
 * Invariant: it never exceeds what a program can be started with, and is built in steps with yields.
 */
import type { Init } from '../../cri/call-options.ts';
import type { KeyValue } from '../../cri/gen/cri-types.ts';
import { ContainerConfigError } from './container-config-error.ts';

/** Three quarters of 8 MiB: beyond, execve(2) fails with E2BIG whatever the stack limit. */
const MAX_ENVIRONMENT_LENGTH = 6 * 1024 * 1024;
/** The '=', the NUL and a pointer. */
export const LENGTH_OF_VARIABLE = 10;
/** The most variables set, or listed, in one turn. */
export const VARIABLES_PER_TURN = 5000;

/** Variables that many containers share. Immutable. */
export interface SharedVariables {
  readonly values: ReadonlyMap<string, string>;
  /** The same in the runtime's form. */
  readonly list: readonly Init<KeyValue>[];
  /** The length that they add to an environment. */
  readonly length: number;
}

/** @throws ContainerConfigError when the environment is too long: maps, prefixes, services and ports multiply */
export function checkLength(length: number): void {
  if (length > MAX_ENVIRONMENT_LENGTH)
    throw new ContainerConfigError(
      `the environment has more than ${MAX_ENVIRONMENT_LENGTH} characters, the most that Linux starts a program with`,
    );
}

/** Variables in the runtime's form. */
export async function listOf(
  values: ReadonlyMap<string, string>,
  pause: () => Promise<void>,
): Promise<readonly Init<KeyValue>[]> {
  const list: Init<KeyValue>[] = [];
  for (const [key, value] of values) {
    if (list.length % VARIABLES_PER_TURN === VARIABLES_PER_TURN - 1) await pause();
    list.push({ key, value });
  }
  return list;
}

export class ContainerEnvironment {
  readonly #shared: SharedVariables;
  readonly #own = new Map<string, string>();
  #length = 0;

  /** @throws ContainerConfigError */
  constructor(shared: SharedVariables) {
    this.#shared = shared;
    this.lengthen(shared.length);
  }

  /** Adds the length of variables in advance. @throws ContainerConfigError */
  lengthen(by: number): void {
    this.#length += by;
    checkLength(this.#length);
  }

  /** @throws ContainerConfigError */
  set(name: string, value: string): void {
    this.lengthen(LENGTH_OF_VARIABLE + name.length + value.length);
    this.#own.set(name, value);
  }

  /** Sets a variable whose length is already counted. */
  setCounted(name: string, value: string): void {
    this.#own.set(name, value);
  }

  get(name: string): string | undefined {
    return this.#own.get(name) ?? this.#shared.values.get(name);
  }

  /** All variables, each name once. */
  async list(pause: () => Promise<void>): Promise<readonly Init<KeyValue>[]> {
    const own = await listOf(this.#own, pause);
    const { list, values } = this.#shared;
    if (own.length === 0) return list;
    const hides = own.some(({ key = '' }) => values.has(key));
    const seen = hides ? list.filter(({ key = '' }) => !this.#own.has(key)) : list;
    return seen.concat(own);
  }
}
