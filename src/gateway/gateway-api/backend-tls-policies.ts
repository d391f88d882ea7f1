/**
 * How Gateways verify the TLS of backends: the BackendTLSPolicy of a Service's port, and the verdict on each policy. A policy
 * that loses one of its targets to an older one applies to none; one with some missing targets applies to the others, because
 * their backends would be unverified otherwise. Only policies of Services that routes refer to are resolved.
 */
import type { Service } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { Backend } from '../snapshot/snapshot.ts';
import { MAX_CA_CERTIFICATES, type CaCertificates } from './ca-certificates.ts';
import { condition, type NewCondition } from './conditions.ts';
import type { BackendTlsPolicy } from './types.ts';

export type Verification = NonNullable<Backend['verification']>;

export interface PolicyContext {
  readonly service: (namespace: string, name: string) => Service | undefined;
  /** The `ca.crt` of a ConfigMap; undefined when it is missing. */
  readonly authoritiesIn: (namespace: string, configMap: string) => CaCertificates | undefined;
}

export interface ResolvedPolicy {
  readonly policy: Stored<BackendTlsPolicy>;
  /** Namespaces and names of its target Services. */
  readonly services: readonly string[];
  readonly conditions: readonly NewCondition[];
}

interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** A policy with its precedence among the others. */
interface PlacedPolicy {
  readonly policy: Stored<BackendTlsPolicy>;
  readonly services: readonly string[];
  /** The older policy that has one of its targets. */
  readonly older: string | undefined;
}

interface Resolution {
  readonly conditions: readonly NewCondition[];
  /** Undefined for an invalid policy, whose backends receive nothing. */
  readonly verification: Verification | undefined;
}

/** One step for each policy, the oldest first. */
export function* placePolicies(
  policies: readonly Stored<BackendTlsPolicy>[],
  context: PolicyContext,
): Steps<BackendTlsPolicies> {
  const byTarget = new Map<string, PlacedPolicy>();
  const all: PlacedPolicy[] = [];
  for (const policy of policies) {
    const namespace = namespaceOf(policy);
    const targets = policy.spec.targetRefs.filter(({ group, kind }) => group === '' && kind === 'Service');
    const keys = targets.map(({ name, sectionName = '' }) => `${namespace}/${name}/${sectionName}`);
    const services = [...new Set(targets.map(({ name }) => `${namespace}/${name}`))];
    const older = keys.map((key) => byTarget.get(key)?.policy.metadata.name).find((name) => name !== undefined);
    const placed = { policy, services, older };
    all.push(placed);
    if (older === undefined) for (const key of keys) byTarget.set(key, placed);
    yield;
  }
  return new BackendTlsPolicies(all, byTarget, context);
}

export class BackendTlsPolicies {
  readonly #context: PolicyContext;
  /** By namespace, service and port name; '' is for all ports. */
  readonly #byTarget: ReadonlyMap<string, PlacedPolicy>;
  readonly #byService = new Map<string, PlacedPolicy[]>();
  readonly #resolved = new Map<PlacedPolicy, Resolution>();

  constructor(all: readonly PlacedPolicy[], byTarget: ReadonlyMap<string, PlacedPolicy>, context: PolicyContext) {
    this.#context = context;
    this.#byTarget = byTarget;
    for (const placed of all)
      for (const service of placed.services) {
        const placedPolicies = this.#byService.get(service) ?? [];
        this.#byService.set(service, placedPolicies);
        placedPolicies.push(placed);
      }
  }

  /** Resolves the policies of these services, by namespace and name. One step for each policy that was not resolved before. */
  *resolve(services: Iterable<string>): Steps<void> {
    for (const service of services)
      for (const placed of this.#byService.get(service) ?? []) {
        if (this.#resolved.has(placed)) continue;
        this.#resolutionOf(placed);
        yield;
      }
  }

  /** The policies resolved so far. */
  resolved(): ResolvedPolicy[] {
    return [...this.#resolved].map(([{ policy, services }, { conditions }]) => ({ policy, services, conditions }));
  }

  /** Undefined when the port has no policy. */
  find(namespace: string, service: string, portName: string): { readonly verification?: Verification } | undefined {
    const ofService = `${namespace}/${service}/`;
    for (const key of portName === '' ? [ofService] : [`${ofService}${portName}`, ofService]) {
      const placed = this.#byTarget.get(key);
      if (placed !== undefined) return { verification: this.#resolutionOf(placed).verification };
    }
    return undefined;
  }

  #resolutionOf(placed: PlacedPolicy): Resolution {
    const cached = this.#resolved.get(placed) ?? resolutionOf(placed, this.#context);
    this.#resolved.set(placed, cached);
    return cached;
  }
}

function resolutionOf({ policy, older }: PlacedPolicy, context: PolicyContext): Resolution {
  const { verification, resolvedRefs, problem } = verificationOf(policy, context);
  const refusal =
    older === undefined
      ? (problem ?? missingTarget(policy, context))
      : { reason: 'Conflicted', message: `policy ${older}, which is older, has the same target` };
  const accepted =
    refusal === undefined
      ? condition('Accepted', true, 'Accepted', 'the policy is accepted')
      : condition('Accepted', false, refusal.reason, refusal.message);
  return { conditions: [accepted, resolvedRefs], verification: problem === undefined ? verification : undefined };
}

function verificationOf(
  policy: Stored<BackendTlsPolicy>,
  context: PolicyContext,
): { readonly verification: Verification; readonly resolvedRefs: NewCondition; readonly problem: Problem | undefined } {
  const { validation, options = {} } = policy.spec;
  const { hostname, caCertificateRefs = [], wellKnownCACertificates = '', subjectAltNames = [] } = validation;
  const found = caCertificateRefs.map((reference) => authorityOf(namespaceOf(policy), reference, context));
  const bad = found.find((one) => 'reason' in one);
  const authorities = found.filter((one) => 'pem' in one);
  const count = authorities.reduce((sum, one) => sum + one.count, 0);
  const resolvedRefs =
    bad === undefined
      ? condition('ResolvedRefs', true, 'ResolvedRefs', 'all references are resolved')
      : condition('ResolvedRefs', false, bad.reason, bad.message);
  const altNames = subjectAltNames.map(({ type, hostname: name = '', uri = '' }) =>
    type === 'URI' ? ({ type: 'URI', value: uri } as const) : ({ type: 'DNS', value: name.toLowerCase() } as const),
  );
  const verification: Verification = {
    serverName: hostname,
    caPem: caCertificateRefs.length > 0 ? authorities.map(({ pem }) => pem).join('\n') : undefined,
    altNames: altNames.length > 0 ? altNames : undefined,
  };
  const problem =
    Object.keys(options).length > 0
      ? { reason: 'Invalid', message: `option ${Object.keys(options)[0]} is not known` }
      : caCertificateRefs.length === 0 && wellKnownCACertificates !== 'System'
        ? { reason: 'Invalid', message: `certificates ${wellKnownCACertificates} are not known; System is` }
        : bad !== undefined && authorities.length === 0
          ? { reason: 'NoValidCACertificate', message: bad.message }
          : count > MAX_CA_CERTIFICATES
            ? {
                reason: 'Invalid',
                message: `its config maps have ${count} certificates, more than ${MAX_CA_CERTIFICATES}`,
              }
            : undefined;
  return { verification, resolvedRefs, problem };
}

function authorityOf(
  namespace: string,
  { group, kind, name }: { readonly group: string; readonly kind: string; readonly name: string },
  { authoritiesIn }: PolicyContext,
): { readonly pem: string; readonly count: number } | Problem {
  if (group !== '' || kind !== 'ConfigMap')
    return { reason: 'InvalidKind', message: `${kind} ${name} is no ConfigMap; only these are read` };
  const invalid = (why: string): Problem => ({
    reason: 'InvalidCACertificateRef',
    message: `config map ${name} ${why}`,
  });
  const caCertificates = authoritiesIn(namespace, name);
  if (caCertificates === undefined) return invalid('does not exist, or has no ca.crt');
  return 'problem' in caCertificates ? invalid(caCertificates.problem) : caCertificates;
}

function missingTarget(policy: Stored<BackendTlsPolicy>, { service }: PolicyContext): Problem | undefined {
  const { targetRefs } = policy.spec;
  const missing = (why: string): Problem => ({
    reason: 'TargetNotFound',
    message: targetRefs.length === 1 ? why : `${why}; the policy holds for its targets that exist`,
  });
  for (const { group, kind, name, sectionName = '' } of targetRefs) {
    if (group !== '' || kind !== 'Service')
      return missing(`${kind} ${name} is no Service; policies hold for these alone`);
    const found = service(namespaceOf(policy), name);
    if (found === undefined) return missing(`service ${name} does not exist`);
    if (sectionName !== '' && !(found.spec?.ports ?? []).some((port) => port.name === sectionName))
      return missing(`service ${name} has no port ${sectionName}`);
  }
  return undefined;
}
