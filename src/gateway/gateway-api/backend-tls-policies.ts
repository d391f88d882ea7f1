/**
 * How Gateways verify the TLS of backends: which BackendTLSPolicy a port of a Service has, and what becomes of each. A policy
 * that loses one of its targets to an older one applies to none.
 */
import type { Service } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { errorMessage } from '../../base/errors.ts';
import { readIssuer } from '../../component-helpers/pki/read-certificate.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { Backend } from '../snapshot/snapshot.ts';
import { condition, type NewCondition } from './conditions.ts';
import type { BackendTlsPolicy } from './types.ts';

export type Verification = NonNullable<Backend['verification']>;

export interface PolicyContext {
  readonly service: (namespace: string, name: string) => Service | undefined;
  /** `ca.crt` of a ConfigMap; undefined: there is none. */
  readonly authoritiesIn: (namespace: string, configMap: string) => string | undefined;
}

export interface ResolvedPolicy {
  readonly policy: Stored<BackendTlsPolicy>;
  /** By namespace and name. */
  readonly services: readonly string[];
  readonly conditions: readonly NewCondition[];
}

interface Problem {
  readonly reason: string;
  readonly message: string;
}

const MAX_AUTHORITIES_BYTES = 64 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export class BackendTlsPolicies {
  readonly all: readonly ResolvedPolicy[];
  /** By namespace, service and port name, '' for all ports; undefined where its connections must fail. */
  readonly #byTarget = new Map<string, Verification | undefined>();

  /** `policies` come the oldest first. */
  constructor(policies: readonly Stored<BackendTlsPolicy>[], context: PolicyContext) {
    const taken = new Map<string, string>();
    this.all = policies.map((policy) => {
      const namespace = namespaceOf(policy);
      const targets = policy.spec.targetRefs.filter(({ group, kind }) => group === '' && kind === 'Service');
      const keys = targets.map(({ name, sectionName = '' }) => `${namespace}/${name}/${sectionName}`);
      const services = [...new Set(targets.map(({ name }) => `${namespace}/${name}`))];
      const older = keys.map((key) => taken.get(key)).find((name) => name !== undefined);
      const { verification, resolvedRefs, problem } = verificationOf(policy, context);
      const refusal =
        older === undefined
          ? (problem ?? missingTarget(policy, context))
          : { reason: 'Conflicted', message: `policy ${older}, which is older, has the same target` };
      if (older === undefined)
        for (const key of keys) {
          taken.set(key, policy.metadata.name);
          // A policy that cannot be kept lets nothing through unverified.
          this.#byTarget.set(key, problem === undefined ? verification : undefined);
        }
      const accepted =
        refusal === undefined
          ? condition('Accepted', true, 'Accepted', 'the policy is accepted')
          : condition('Accepted', false, refusal.reason, refusal.message);
      return { policy, services, conditions: [accepted, resolvedRefs] };
    });
  }

  /** Undefined: the port has no policy. */
  find(namespace: string, service: string, portName: string): { readonly verification?: Verification } | undefined {
    const ofService = `${namespace}/${service}/`;
    for (const key of portName === '' ? [ofService] : [`${ofService}${portName}`, ofService])
      if (this.#byTarget.has(key)) return { verification: this.#byTarget.get(key) };
    return undefined;
  }
}

function verificationOf(
  policy: Stored<BackendTlsPolicy>,
  context: PolicyContext,
): { readonly verification: Verification; readonly resolvedRefs: NewCondition; readonly problem: Problem | undefined } {
  const { validation, options = {} } = policy.spec;
  const { hostname, caCertificateRefs = [], wellKnownCACertificates = '', subjectAltNames = [] } = validation;
  const found = caCertificateRefs.map((reference) => authorityOf(namespaceOf(policy), reference, context));
  const bad = found.find((one) => 'reason' in one);
  const authorities = found.flatMap((one) => ('pem' in one ? [one.pem] : []));
  const resolvedRefs =
    bad === undefined
      ? condition('ResolvedRefs', true, 'ResolvedRefs', 'all references are resolved')
      : condition('ResolvedRefs', false, bad.reason, bad.message);
  const altNames = subjectAltNames.map(({ type, hostname: name = '', uri = '' }) =>
    type === 'URI' ? ({ type: 'URI', value: uri } as const) : ({ type: 'DNS', value: name.toLowerCase() } as const),
  );
  const verification: Verification = {
    serverName: hostname,
    caPem: caCertificateRefs.length > 0 ? authorities.join('\n') : undefined,
    altNames: altNames.length > 0 ? altNames : undefined,
  };
  const problem =
    Object.keys(options).length > 0
      ? { reason: 'Invalid', message: `option ${Object.keys(options)[0]} is not known` }
      : caCertificateRefs.length === 0 && wellKnownCACertificates !== 'System'
        ? { reason: 'Invalid', message: `certificates ${wellKnownCACertificates} are not known; System is` }
        : bad !== undefined && authorities.length === 0
          ? { reason: 'NoValidCACertificate', message: bad.message }
          : undefined;
  return { verification, resolvedRefs, problem };
}

function authorityOf(
  namespace: string,
  { group, kind, name }: { readonly group: string; readonly kind: string; readonly name: string },
  { authoritiesIn }: PolicyContext,
): { readonly pem: string } | Problem {
  if (group !== '' || kind !== 'ConfigMap')
    return { reason: 'InvalidKind', message: `${kind} ${name} is no ConfigMap; only these are read` };
  const invalid = (why: string): Problem => ({
    reason: 'InvalidCACertificateRef',
    message: `config map ${name} ${why}`,
  });
  const text = authoritiesIn(namespace, name);
  if (text === undefined) return invalid('does not exist, or has no ca.crt');
  if (text.length > MAX_AUTHORITIES_BYTES) return invalid(`has more than ${MAX_AUTHORITIES_BYTES} bytes of ca.crt`);
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) return invalid('has no certificate in ca.crt');
  try {
    for (const block of blocks) readIssuer(block);
  } catch (error) {
    return invalid(`has a ca.crt that cannot be read: ${errorMessage(error)}`);
  }
  return { pem: blocks.join('\n') };
}

function missingTarget(policy: Stored<BackendTlsPolicy>, { service }: PolicyContext): Problem | undefined {
  for (const { group, kind, name, sectionName = '' } of policy.spec.targetRefs) {
    if (group !== '' || kind !== 'Service')
      return { reason: 'TargetNotFound', message: `${kind} ${name} is no Service; policies hold for these alone` };
    const found = service(namespaceOf(policy), name);
    if (found === undefined) return { reason: 'TargetNotFound', message: `service ${name} does not exist` };
    if (sectionName !== '' && !(found.spec?.ports ?? []).some((port) => port.name === sectionName))
      return { reason: 'TargetNotFound', message: `service ${name} has no port ${sectionName}` };
  }
  return undefined;
}
