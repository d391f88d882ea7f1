/**
 * CEL expressions of an AuthenticationConfiguration: they map a token's claims to its user, and validate tokens and
 * users. Compiled once, when the configuration is read. Upstream: apiserver/pkg/authentication/cel and the oidc
 * authenticator.
 */
import { shown } from '../../base/shown.ts';
import { compile, type Program } from '../../api/cel/compile.ts';
import { type CelEnvironment, createEnvironment } from '../../api/cel/environment.ts';
import { DYN, listType, mapType, STRING, structOf } from '../../api/cel/value-types.ts';
import { dynValue, jsonValue } from '../../api/cel/values.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import type { Principal } from '../../api/transport.ts';

/** The expressions of one issuer; absent ones are replaced by named claims. */
export interface ClaimExpressions {
  readonly username?: (claims: object) => string;
  readonly groups?: (claims: object) => readonly string[];
  readonly uid?: (claims: object) => string;
  /** Values by key; keys without values are left out. */
  readonly extra: (claims: object) => Readonly<Record<string, readonly string[]>>;
  /** Throws for an invalid token. */
  checkClaims(claims: object): void;
  /** Throws for an invalid user. */
  checkUser(user: Principal): void;
}

const userType = structOf('kubernetes.UserInfo', {
  username: STRING,
  uid: STRING,
  groups: listType(STRING),
  extra: mapType(listType(STRING)),
});

interface Rule {
  readonly expression: string;
  readonly message: string;
  readonly program: Program;
}

/** Compiles the expressions of `jwt[i]`. Throws an Error that names the place. */
export function readClaimExpressions(own: JsonObject, place: string): ClaimExpressions {
  const claimsOnly = createEnvironment({ claims: DYN.type });
  const userOnly = createEnvironment({ user: userType.type });
  const mappings = isObject(own['claimMappings']) ? own['claimMappings'] : {};
  const mapped = (name: string): Program | undefined => {
    const mapping = mappings[name];
    return isObject(mapping)
      ? programOf(mapping['expression'], {
          environment: claimsOnly,
          place: `${place}.claimMappings.${name}.expression`,
        })
      : undefined;
  };
  const [username, groups, uid] = [mapped('username'), mapped('groups'), mapped('uid')];
  const extra = extraOf(mappings['extra'] ?? [], { environment: claimsOnly, place: `${place}.claimMappings.extra` });
  const claimRules = rulesOf(own['claimValidationRules'], {
    environment: claimsOnly,
    place: `${place}.claimValidationRules`,
  });
  const userRules = rulesOf(own['userValidationRules'], {
    environment: userOnly,
    place: `${place}.userValidationRules`,
  });
  const used = [username, ...extra.map(({ program }) => program), ...claimRules.map(({ program }) => program)];
  checkEmail(username, used, `${place}.claimMappings.username.expression`);
  const run = (program: Program, claims: object): unknown => jsonValue(program.run({ claims: dynValue(claims) }));
  return {
    username: username && ((claims) => textOf(run(username, claims), 'claimMappings.username.expression')),
    groups: groups && ((claims) => textsOf(run(groups, claims), 'claimMappings.groups.expression')),
    uid: uid && ((claims) => textOf(run(uid, claims), 'claimMappings.uid.expression')),
    extra: (claims) => {
      const found = extra.map(({ key, program }): [string, readonly string[]] => [
        key,
        textsOf(run(program, claims), `claimMappings.extra[${key}].valueExpression`),
      ]);
      return Object.fromEntries(found.filter(([, values]) => values.length > 0));
    },
    checkClaims: (claims) => checkRules(claimRules, { claims: dynValue(claims) }, 'claim'),
    checkUser: ({ name, uid: id = '', groups: names, extra: more = {} }) =>
      checkRules(userRules, { user: userType.value({ username: name, uid: id, groups: names, extra: more }) }, 'user'),
  };
}

interface Compiling {
  readonly environment: CelEnvironment;
  readonly place: string;
}

function programOf(expression: unknown, { environment, place }: Compiling): Program | undefined {
  if (expression === undefined || expression === '') return undefined;
  try {
    return compile(String(expression), { environment });
  } catch (error) {
    throw new Error(`${place}: Invalid value: ${JSON.stringify(expression)}: ${(error as Error).message}`);
  }
}

function rulesOf(value: unknown, { environment, place }: Compiling): Rule[] {
  const rules = Array.isArray(value) ? value : [];
  return rules.flatMap((rule: unknown, index) => {
    const { expression, message = '' } = isObject(rule) ? rule : {};
    const at = `${place}[${index}].expression`;
    const program = programOf(expression, { environment, place: at });
    if (program === undefined) return [];
    if (program.type.kind !== 'bool' && program.type.kind !== 'dyn')
      throw new Error(`${at}: Invalid value: ${JSON.stringify(expression)}: must evaluate to bool`);
    return [{ expression: String(expression), message: shown(message), program }];
  });
}

function extraOf(value: unknown, { environment, place }: Compiling): { key: string; program: Program }[] {
  if (!Array.isArray(value)) throw new Error(`${place} is not a list`);
  const seen = new Set<unknown>();
  return value.map((one: unknown, index) => {
    const at = `${place}[${index}]`;
    const { key, valueExpression } = isObject(one) ? one : {};
    checkExtraKey(key, `${at}.key`);
    if (seen.has(key)) throw new Error(`${at}.key: Duplicate value: ${JSON.stringify(key)}`);
    seen.add(key);
    const program = programOf(valueExpression, { environment, place: `${at}.valueExpression` });
    if (program === undefined) throw new Error(`${at}.valueExpression: Required value: valueExpression is required`);
    return { key, program };
  });
}

function checkExtraKey(key: unknown, place: string): asserts key is string {
  if (typeof key !== 'string' || key === '') throw new Error(`${place}: Required value`);
  const invalid = (why: string): Error => new Error(`${place}: Invalid value: ${JSON.stringify(key)}: ${why}`);
  const slash = key.indexOf('/');
  if (slash <= 0 || slash === key.length - 1) throw invalid('must be a domain-prefixed path (such as "acme.io/foo")');
  if (key !== key.toLowerCase()) throw invalid('key must be lowercase');
  const domain = key.slice(0, slash);
  if (/(^|\.)(k8s|kubernetes)\.io$/.test(domain))
    throw invalid('k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use');
}

/** `claims.email`, `claims.?email`, `claims['email']` and every other text that names the claim. */
const USES_EMAIL = /\.\s*\??\s*email\b|["']email["']/;

/** Refuses names from unverified addresses, which anybody could claim. */
function checkEmail(username: Program | undefined, used: readonly (Program | undefined)[], place: string): void {
  if (username === undefined || !USES_EMAIL.test(username.expression)) return;
  if (used.some((program) => program !== undefined && /\bclaims\.\??email_verified\b/.test(program.expression))) return;
  throw new Error(
    `${place}: Invalid value: ${JSON.stringify(username.expression)}: claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression`,
  );
}

function checkRules(
  rules: readonly Rule[],
  activation: Readonly<Record<string, unknown>>,
  what: 'claim' | 'user',
): void {
  for (const { expression, message, program } of rules) {
    let why = message === '' ? `validation expression '${expression}' failed` : message;
    try {
      const holds = program.run(activation);
      if (holds === true) continue;
      if (holds !== false) why = `expression '${expression}' resulted in error: must evaluate to bool`;
    } catch (error) {
      why = `expression '${expression}' resulted in error: ${(error as Error).message}`;
    }
    throw new Error(`error evaluating ${what} validation expression: ${why}`);
  }
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new Error(`error evaluating ${what}: must return a string`);
}

/** A string or list of strings; empty ones and null count as none. */
function textsOf(value: unknown, what: string): string[] {
  const all = value === null || value === undefined ? [] : Array.isArray(value) ? value : [value];
  if (all.some((one) => typeof one !== 'string'))
    throw new Error(`error evaluating ${what}: must return a string or a list of strings`);
  return (all as string[]).filter((one) => one !== '');
}
