/** Service-account tokens and feature gates of an API server that runs alone. */
import { FlagError, type OptionSet } from './flags.ts';

/** The settings. */
export interface ServiceAccountOptions {
  /** The first signs; all are accepted. */
  readonly issuers: readonly string[];
  readonly keyFiles: readonly string[];
  readonly signingKeyFile: string;
  /** Default: the issuers. */
  readonly apiAudiences?: readonly string[];
  readonly featureGates: Readonly<Record<string, boolean>>;
}

/** Keys, issuers, audiences; feature gates. */
export const serviceAccountOptions: OptionSet<ServiceAccountOptions> = {
  flags: [
    {
      name: 'service-account-issuer',
      type: 'list',
      description: 'issuer of service-account tokens; further ones are accepted',
    },
    { name: 'service-account-key-file', type: 'list', description: 'keys that verify service-account tokens' },
    { name: 'service-account-signing-key-file', type: 'string', description: 'key that signs service-account tokens' },
    { name: 'api-audiences', type: 'list', description: 'audiences of tokens for this API (default: the issuers)' },
    { name: 'feature-gates', type: 'list', description: 'features to turn on or off, e.g. AllBeta=true' },
  ],
  read(values) {
    const signingKeyFile = values.text('service-account-signing-key-file');
    const issuers = values.list('service-account-issuer') ?? [];
    if (issuers.length === 0) throw new FlagError('--service-account-issuer is a required flag');
    if (signingKeyFile === undefined)
      throw new FlagError('--service-account-signing-key-file and --service-account-issuer are required flags');
    const apiAudiences = values.list('api-audiences');
    return {
      issuers,
      keyFiles: values.list('service-account-key-file') ?? [],
      signingKeyFile,
      ...(apiAudiences !== undefined && { apiAudiences }),
      featureGates: Object.fromEntries((values.list('feature-gates') ?? []).map(gate)),
    };
  },
};

function gate(text: string): [string, boolean] {
  const [name = '', value] = text.split('=');
  if (value !== 'true' && value !== 'false')
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "--feature-gates" flag: invalid value of ${name}=${value ?? ''}, err: it is neither true nor false`,
    );
  return [name, value === 'true'];
}
