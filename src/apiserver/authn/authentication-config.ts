/**
 * AuthenticationConfiguration: any number of token issuers, and the paths that allow anonymous requests. Upstream:
 * `--authentication-config`, apis/apiserver/v1 and its validation.
 */
import { shown } from '../../base/shown.ts';
import { listAt, objectAt } from '../config-values.ts';
import { isObject, type JsonObject, refuseUnknownFields } from '../../api/codec/own-property.ts';
import { readClaimExpressions } from './claim-expressions.ts';
import type { OidcConfig } from './oidc.ts';

export interface AuthenticationConfig {
  readonly issuers: readonly OidcConfig[];
  /** Absent: the flag decides. */
  readonly anonymous?: { readonly enabled: boolean; readonly paths?: readonly string[] };
}

const versions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`);
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];

/** Checks a decoded configuration. Throws an Error that names the mistake. */
export function readAuthenticationConfig(value: unknown): AuthenticationConfig {
  const { apiVersion, kind, jwt = [], anonymous } = objectAt(value, 'the configuration');
  if (!versions.includes(shown(apiVersion)) || kind !== 'AuthenticationConfiguration')
    throw new Error(`${shown(apiVersion)} ${shown(kind)} is not ${versions[0]} AuthenticationConfiguration`);
  refuseUnknownFields(value as JsonObject, ['apiVersion', 'kind', 'jwt', 'anonymous'], '');
  const issuers = listAt(jwt, 'jwt').map((one, index) => issuerOf(one, `jwt[${index}]`));
  checkUnique(
    issuers.map(({ issuerUrl }) => issuerUrl),
    'url',
  );
  checkUnique(
    issuers.map(({ discoveryUrl }) => discoveryUrl),
    'discoveryURL',
  );
  return { issuers, anonymous: anonymous === undefined ? undefined : anonymousOf(anonymous) };
}

function checkUnique(values: readonly (string | undefined)[], field: string): void {
  for (const [index, value] of values.entries())
    if (value !== undefined && values.indexOf(value) < index)
      throw new Error(`jwt[${index}].issuer.${field}: Duplicate value: ${JSON.stringify(value)}`);
}

function anonymousOf(value: unknown): NonNullable<AuthenticationConfig['anonymous']> {
  const { enabled, conditions = [] } = objectAt(value, 'anonymous', ['enabled', 'conditions']);
  const paths = listAt(conditions, 'anonymous.conditions').map((one, index) => {
    const place = `anonymous.conditions[${index}]`;
    return textAt(objectAt(one, place, ['path'])['path'], `${place}.path`);
  });
  if (enabled !== true && paths.length > 0)
    throw new Error('anonymous.conditions: Invalid value: enabled should be set to true when conditions are defined');
  return { enabled: enabled === true, paths: paths.length > 0 ? paths : undefined };
}

const ISSUER_FIELDS = [
  'url',
  'discoveryURL',
  'audiences',
  'audienceMatchPolicy',
  'certificateAuthority',
  'egressSelectorType',
];
const AUTHENTICATOR_FIELDS = ['issuer', 'claimMappings', 'claimValidationRules', 'userValidationRules'];
const CLAIM_RULE_FIELDS = ['claim', 'requiredValue', 'expression', 'message'];

function issuerOf(value: unknown, place: string): OidcConfig {
  const own = objectAt(value, place, AUTHENTICATOR_FIELDS);
  const { issuer, claimMappings, claimValidationRules = [], userValidationRules = [] } = own;
  for (const [index, rule] of listAt(userValidationRules, `${place}.userValidationRules`).entries()) {
    const { expression } = objectAt(rule, `${place}.userValidationRules[${index}]`, ['expression', 'message']);
    textAt(expression, `${place}.userValidationRules[${index}].expression`);
  }
  const at = `${place}.issuer`;
  const { url, discoveryURL, audiences, audienceMatchPolicy, certificateAuthority, egressSelectorType } = objectAt(
    issuer,
    at,
    ISSUER_FIELDS,
  );
  if ((egressSelectorType ?? '') !== '') throw new Error(`${at}.egressSelectorType is not supported`);
  const issuerUrl = urlAt(url, `${at}.url`);
  const discoveryUrl = discoveryUrlOf(discoveryURL ?? '', issuerUrl, `${at}.discoveryURL`);
  const clientIds = listAt(audiences ?? [], `${at}.audiences`).map((one, i) => textAt(one, `${at}.audiences[${i}]`));
  if (clientIds.length === 0) throw new Error(`${at}.audiences: Required value: at least one audiences is required`);
  if (clientIds.length > 1 && audienceMatchPolicy !== 'MatchAny')
    throw new Error(
      `${at}.audienceMatchPolicy: Invalid value: ${JSON.stringify(audienceMatchPolicy ?? '')}: audienceMatchPolicy must be MatchAny for multiple audiences`,
    );
  return {
    issuerUrl,
    discoveryUrl,
    clientId: clientIds,
    ...mappingsOf(claimMappings, `${place}.claimMappings`),
    requiredClaims: requiredOf(claimValidationRules, `${place}.claimValidationRules`),
    expressions: usesExpressions(own) ? readClaimExpressions(own, place) : undefined,
    signingAlgorithms: ALGORITHMS,
    caPem: typeof certificateAuthority === 'string' && certificateAuthority !== '' ? certificateAuthority : undefined,
  };
}

function discoveryUrlOf(value: unknown, issuerUrl: string, place: string): string | undefined {
  if (value === '') return undefined;
  const url = urlAt(value, place);
  const bare = (one: string): string => one.replace(/\/+$/, '');
  if (bare(url) === bare(issuerUrl))
    throw new Error(`${place}: Invalid value: ${JSON.stringify(url)}: discoveryURL must be different from URL`);
  return url;
}

function urlAt(value: unknown, place: string): string {
  const text = textAt(value, place);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem =
    url?.protocol !== 'https:'
      ? 'URL scheme must be https'
      : url.username !== '' || url.password !== ''
        ? 'URL must not contain a username or password'
        : url.search !== ''
          ? 'URL must not contain a query'
          : url.hash !== ''
            ? 'URL must not contain a fragment'
            : undefined;
  if (problem !== undefined) throw new Error(`${place}: Invalid value: ${JSON.stringify(text)}: ${problem}`);
  return text;
}

type Mappings = Pick<OidcConfig, 'usernameClaim' | 'usernamePrefix' | 'groupsClaim' | 'groupsPrefix' | 'uidClaim'>;

const MAPPING_FIELDS = ['claim', 'prefix', 'expression'];

function mappingsOf(value: unknown, place: string): Mappings {
  const { username, groups, uid, extra = [] } = objectAt(value, place, ['username', 'groups', 'uid', 'extra']);
  for (const [index, one] of listAt(extra, `${place}.extra`).entries())
    objectAt(one, `${place}.extra[${index}]`, ['key', 'valueExpression']);
  const mapping = objectAt(username, `${place}.username`, MAPPING_FIELDS);
  const name = mappingOf(mapping, `${place}.username`);
  if (name === undefined && !hasExpression(mapping))
    throw new Error(`${place}.username: Required value: claim or expression is required`);
  const own =
    groups === undefined
      ? undefined
      : mappingOf(objectAt(groups, `${place}.groups`, MAPPING_FIELDS), `${place}.groups`);
  const uidOwn = uid === undefined ? {} : objectAt(uid, `${place}.uid`, ['claim', 'expression']);
  if (uid !== undefined && (uidOwn['claim'] === undefined) === !hasExpression(uidOwn))
    throw new Error(`${place}.uid: Invalid value: exactly one of claim and expression is required`);
  return {
    usernameClaim: name?.claim ?? '',
    usernamePrefix: name?.prefix ?? '',
    groupsClaim: own?.claim,
    groupsPrefix: own?.prefix ?? '',
    uidClaim: uidOwn['claim'] === undefined ? undefined : textAt(uidOwn['claim'], `${place}.uid.claim`),
  };
}

/** Whether there are CEL expressions, for which the engine must be loaded. */
function usesExpressions({ claimMappings, claimValidationRules, userValidationRules }: JsonObject): boolean {
  const mappings = Object.values(isObject(claimMappings) ? claimMappings : {});
  const rules = [claimValidationRules, userValidationRules].filter(Array.isArray).flat();
  return (
    mappings.some((one) => (Array.isArray(one) ? one.length > 0 : hasExpression(one))) || rules.some(hasExpression)
  );
}

function hasExpression(value: unknown): boolean {
  return isObject(value) && value['expression'] !== undefined && value['expression'] !== '';
}

function mappingOf(own: JsonObject, place: string): { claim: string; prefix: string } | undefined {
  const { claim, prefix } = own;
  if (hasExpression(own) && ((claim ?? '') !== '' || prefix !== undefined))
    throw new Error(`${place}: Invalid value: expression excludes claim and prefix`);
  if (claim === undefined || claim === '') return undefined;
  if (typeof prefix !== 'string')
    throw new Error(
      `${place}.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing`,
    );
  return { claim: textAt(claim, `${place}.claim`), prefix };
}

function requiredOf(rules: unknown, place: string): Record<string, string> {
  const read = listAt(rules, place).flatMap((one, index): [string, string][] => {
    const rule = objectAt(one, `${place}[${index}]`, CLAIM_RULE_FIELDS);
    if (!hasExpression(rule))
      return [[textAt(rule['claim'], `${place}[${index}].claim`), String(rule['requiredValue'] ?? '')]];
    if ((rule['claim'] ?? '') !== '' || (rule['requiredValue'] ?? '') !== '')
      throw new Error(`${place}[${index}]: Invalid value: expression excludes claim and requiredValue`);
    return [];
  });
  return Object.fromEntries(read);
}

function textAt(value: unknown, place: string): string {
  if (typeof value !== 'string' || value === '') throw new Error(`${place}: Required value`);
  return value;
}
