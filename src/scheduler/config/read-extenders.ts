/** Extenders of a configuration or a policy file. Upstream: config.Extender and ValidateExtenders. */
import type { Fields } from './fields.ts';

/**
 * One extender: a web service that takes part in scheduling. Verbs are path segments; '' for verbs that it does not
 * serve.
 */
export interface ExtenderConfig {
  readonly urlPrefix: string;
  readonly filterVerb: string;
  readonly prioritizeVerb: string;
  readonly preemptVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  readonly httpTimeoutMs: number;
  /** Requests and answers hold node names instead of whole nodes. */
  readonly nodeCacheCapable: boolean;
  /** It is called only for pods that request one of these; empty: for all pods. */
  readonly managedResources: readonly string[];
  /** Managed resources that NodeResourcesFit ignores, since the extender checks them. */
  readonly ignoredResources: readonly string[];
  /** When it fails, scheduling continues without it. */
  readonly ignorable: boolean;
  readonly tls?: ExtenderTls;
}

/** Certificates as files or inline PEM. */
export interface ExtenderTls {
  readonly insecure: boolean;
  readonly serverName: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly certPem: string;
  readonly keyPem: string;
  readonly caPem: string;
}

/** Reads and checks the list. */
export function readExtenders(root: Fields): readonly ExtenderConfig[] {
  const fields = root.objects('extenders');
  const extenders = fields.map(readExtender);
  const binders = extenders.filter(({ bindVerb }) => bindVerb !== '').length;
  if (binders > 1)
    root.problems.push(`extenders: Invalid value: found ${binders} extenders implementing bind, only one is allowed`);
  return extenders;
}

function readExtender(fields: Fields): ExtenderConfig {
  const urlPrefix = fields.text('urlPrefix', '').replace(/\/+$/, '');
  if (!URL.canParse(urlPrefix)) fields.invalid('urlPrefix', urlPrefix, 'must be a URL');
  const prioritizeVerb = fields.text('prioritizeVerb', '');
  const weight = fields.number('weight', 0);
  if (prioritizeVerb !== '' && weight <= 0)
    fields.invalid('weight', weight, 'must have a positive weight applied to it');
  const managed = fields.objects('managedResources').map((entry) => {
    const name = entry.text('name', '');
    if (!name.includes('/')) entry.invalid('name', name, 'must be the name of an extended resource');
    const ignored = entry.bool('ignoredByScheduler', false);
    entry.finish();
    return { name, ignored };
  });
  const tls = readTls(fields);
  const made: ExtenderConfig = {
    urlPrefix: fields.bool('enableHTTPS', false) ? urlPrefix.replace(/^http:/, 'https:') : urlPrefix,
    filterVerb: fields.text('filterVerb', ''),
    prioritizeVerb,
    preemptVerb: fields.text('preemptVerb', ''),
    bindVerb: fields.text('bindVerb', ''),
    weight,
    httpTimeoutMs: fields.durationMs('httpTimeout', 5000),
    nodeCacheCapable: fields.bool('nodeCacheCapable', false),
    managedResources: managed.map(({ name }) => name),
    ignoredResources: managed.filter(({ ignored }) => ignored).map(({ name }) => name),
    ignorable: fields.bool('ignorable', false),
    tls,
  };
  fields.finish();
  return made;
}

function readTls(parent: Fields): ExtenderTls | undefined {
  if (!parent.has('tlsConfig')) return undefined;
  const fields = parent.object('tlsConfig');
  const pem = (name: string): string => Buffer.from(fields.text(name, ''), 'base64').toString('utf8');
  const tls = {
    insecure: fields.bool('insecure', false),
    serverName: fields.text('serverName', ''),
    certFile: fields.text('certFile', ''),
    keyFile: fields.text('keyFile', ''),
    caFile: fields.text('caFile', ''),
    certPem: pem('certData'),
    keyPem: pem('keyData'),
    caPem: pem('caData'),
  };
  fields.finish();
  return tls;
}
