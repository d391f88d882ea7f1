/**
 * Authorization checks inside expressions. Evaluation is synchronous, but an authorizer may answer asynchronously: a check
 * without an answer throws {@link PendingDecision}, and `evaluateWithDecisions` waits and evaluates again with the answer.
 * Upstream: apiserver/pkg/cel/library/authz.go.
 */
import { isDns1123Label, isDns1123Subdomain } from '../../names.ts';
import { structTypeOf } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';
import { EQUALS, FunctionError, TO_JSON, TYPE_NAME } from '../runtime/values.ts';

const AUTHORIZER_TYPE = 'kubernetes.authorization.Authorizer';
const PATH = 'kubernetes.authorization.PathCheck';
const GROUP = 'kubernetes.authorization.GroupCheck';
const RESOURCE = 'kubernetes.authorization.ResourceCheck';
const DECISION = 'kubernetes.authorization.Decision';

/** Type of the `authorizer` variable. */
export const AUTHORIZER = structTypeOf(AUTHORIZER_TYPE, undefined);
/** Type of the `authorizer.requestResource` variable. */
export const RESOURCE_CHECK = structTypeOf(RESOURCE, undefined);
/** The attributes of a check; fields as upstream's authorizer.Attributes. */
export interface CheckAttributes {
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

interface CheckAnswer {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason: string;
}

export type Authorize = (attributes: CheckAttributes) => CheckAnswer | Promise<CheckAnswer>;

/** Thrown when a check has no answer yet. */
class PendingDecision extends Error {}

/** The answers to the checks of one request. The authorizer is called once for each check. */
export class Decisions {
  readonly #authorize: Authorize;
  readonly #answers = new Map<string, Decision>();
  readonly #pending = new Map<string, Promise<void>>();

  constructor(authorize: Authorize) {
    this.#authorize = authorize;
  }

  /** Whether an evaluation contained a check without an answer. */
  get isPending(): boolean {
    return this.#pending.size > 0;
  }

  /** Waits for the answers to all pending checks. */
  async settle(): Promise<void> {
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    await Promise.all(waiting);
  }

  /** Throws {@link PendingDecision} while there is no answer. */
  decide(attributes: CheckAttributes): Decision {
    const key = JSON.stringify(attributes);
    const cached = this.#answers.get(key);
    if (cached !== undefined) return cached;
    if (!this.#pending.has(key)) {
      const answer = this.#ask(attributes);
      if (!(answer instanceof Promise)) {
        this.#answers.set(key, answer);
        return answer;
      }
      this.#pending.set(
        key,
        answer.then((decision) => {
          this.#answers.set(key, decision);
        }),
      );
    }
    throw new PendingDecision();
  }

  #ask(attributes: CheckAttributes): Decision | Promise<Decision> {
    const failed = (error: unknown): Decision => new Decision(undefined, (error as Error).message);
    try {
      const answer = this.#authorize(attributes);
      if (!(answer instanceof Promise)) return new Decision(answer, '');
      return answer.then((result) => new Decision(result, ''), failed);
    } catch (error) {
      return failed(error);
    }
  }
}

/** The base of values without a JSON form, which equal only themselves. */
abstract class Opaque implements CelObject {
  abstract readonly [TYPE_NAME]: string;

  [EQUALS](other: Opaque): boolean {
    return this === other;
  }

  [TO_JSON](): never {
    throw new FunctionError('no such overload');
  }
}

class Decision extends Opaque {
  readonly [TYPE_NAME] = DECISION;
  readonly answer: CheckAnswer | undefined;
  readonly error: string;

  constructor(answer: CheckAnswer | undefined, error: string) {
    super();
    this.answer = answer;
    this.error = error;
  }
}

type User = CheckAttributes['user'];

/** The `authorizer` variable: checks what a user may do. */
export class CelAuthorizer extends Opaque {
  readonly [TYPE_NAME] = AUTHORIZER_TYPE;
  readonly user: User;
  readonly decisions: Decisions;

  constructor(user: User, decisions: Decisions) {
    super();
    this.user = user;
    this.decisions = decisions;
  }

  /** A check of a resource: the variable `authorizer.requestResource`. */
  check(about: Partial<CheckAttributes>): ResourceCheck {
    return new ResourceCheck(this, about);
  }
}

class PathCheck extends Opaque {
  readonly [TYPE_NAME] = PATH;
  readonly authorizer: CelAuthorizer;
  readonly path: string;

  constructor(authorizer: CelAuthorizer, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends Opaque {
  readonly [TYPE_NAME] = GROUP;
  readonly authorizer: CelAuthorizer;
  readonly group: string;

  constructor(authorizer: CelAuthorizer, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

class ResourceCheck extends Opaque {
  readonly [TYPE_NAME] = RESOURCE;
  readonly authorizer: CelAuthorizer;
  readonly about: Partial<CheckAttributes>;

  constructor(authorizer: CelAuthorizer, about: Partial<CheckAttributes>) {
    super();
    this.authorizer = authorizer;
    this.about = about;
  }

  with(more: Partial<CheckAttributes>): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.about, ...more });
  }
}

function decide(authorizer: CelAuthorizer, about: Partial<CheckAttributes>, verb: string): Decision {
  return authorizer.decisions.decide({
    isResourceRequest: true,
    apiGroup: '',
    apiVersion: '*',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    path: '',
    ...about,
    user: authorizer.user,
    verb,
  });
}

function serviceAccount(authorizer: CelAuthorizer, namespace: string, name: string): CelAuthorizer {
  if (isDns1123Subdomain(name).length > 0) throw new FunctionError('Invalid service account name');
  if (isDns1123Label(namespace).length > 0) throw new FunctionError('Invalid service account namespace');
  const user = {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
  return new CelAuthorizer(user, authorizer.decisions);
}

export function defineAuthorizer(declarations: Declarations): void {
  declarations.addType(AUTHORIZER);
  declarations.addType(RESOURCE_CHECK);
  for (const name of [PATH, GROUP, DECISION]) declarations.addType(structTypeOf(name, undefined));
  declarations.define({
    [`${AUTHORIZER_TYPE}.path(string): ${PATH}`]: (authorizer: CelAuthorizer, path: string) => {
      if (path.trim() === '') throw new FunctionError('path must not be empty');
      return new PathCheck(authorizer, path);
    },
    [`${AUTHORIZER_TYPE}.group(string): ${GROUP}`]: (authorizer: CelAuthorizer, group: string) =>
      new GroupCheck(authorizer, group),
    [`${AUTHORIZER_TYPE}.serviceAccount(string, string): ${AUTHORIZER_TYPE}`]: serviceAccount,
    [`${PATH}.check(string): ${DECISION}`]: (check: PathCheck, verb: string) =>
      decide(check.authorizer, { isResourceRequest: false, apiVersion: '', path: check.path }, verb),
    [`${GROUP}.resource(string): ${RESOURCE}`]: (check: GroupCheck, resource: string) => {
      if (resource.trim() === '') throw new FunctionError('resource must not be empty');
      return new ResourceCheck(check.authorizer, { apiGroup: check.group, resource });
    },
    [`${RESOURCE}.subresource(string): ${RESOURCE}`]: (check: ResourceCheck, subresource: string) =>
      check.with({ subresource }),
    [`${RESOURCE}.namespace(string): ${RESOURCE}`]: (check: ResourceCheck, namespace: string) =>
      check.with({ namespace }),
    [`${RESOURCE}.name(string): ${RESOURCE}`]: (check: ResourceCheck, name: string) => check.with({ name }),
    [`${RESOURCE}.fieldSelector(string): ${RESOURCE}`]: (check: ResourceCheck, fieldSelector: string) =>
      check.with({ fieldSelector }),
    [`${RESOURCE}.labelSelector(string): ${RESOURCE}`]: (check: ResourceCheck, labelSelector: string) =>
      check.with({ labelSelector }),
    [`${RESOURCE}.check(string): ${DECISION}`]: (check: ResourceCheck, verb: string) =>
      decide(check.authorizer, check.about, verb),
    [`${DECISION}.errored(): bool`]: (decision: Decision) => decision.error !== '',
    [`${DECISION}.error(): string`]: (decision: Decision) => decision.error,
    [`${DECISION}.allowed(): bool`]: (decision: Decision) => decision.answer?.decision === 'allow',
    [`${DECISION}.reason(): string`]: (decision: Decision) => decision.answer?.reason ?? '',
  });
}
