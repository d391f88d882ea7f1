/** Service-account and bootstrap tokens, feature gates of an API server that runs alone. */
import { parseDurationMs } from '../../api/duration.ts';
import { FlagError, type FlagValues, type OptionSet } from '../../component-helpers/command-line/flags.ts';

export interface ServiceAccountOptions {
  /** The first signs; all are accepted. */
  readonly issuers: readonly string[];
  readonly keyFiles: readonly string[];
  readonly signingKeyFile: string;
  /** Default: the issuers. */
  readonly apiAudiences?: readonly string[];
  /** Where others find the keys. */
  readonly jwksUri?: string;
  readonly maxExpirationSeconds?: number;
  readonly extendsExpiration: boolean;
  readonly lookup: boolean;
  /** Whether secrets of type bootstrap.kubernetes.io/token are tokens. */
  readonly bootstrapTokens: boolean;
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
    {
      name: 'service-account-jwks-uri',
      type: 'string',
      description: 'where others find the keys; https only (default: /openid/v1/jwks of this server)',
    },
    { name: 'service-account-max-token-expiration', type: 'string', description: 'no token lasts longer' },
    {
      name: 'service-account-extend-token-expiration',
      type: 'bool',
      description: "pods' tokens last a year, for programs that read them once (default true)",
    },
    {
      name: 'service-account-lookup',
      type: 'bool',
      description: 'tokens end with their service account (default true)',
    },
    {
      name: 'enable-bootstrap-token-auth',
      type: 'bool',
      description: "secrets of type 'bootstrap.kubernetes.io/token' in kube-system are tokens (default false)",
    },
    { name: 'feature-gates', type: 'list', description: 'features to turn on or off, e.g. AllBeta=true' },
  ],
  read(values) {
    const signingKeyFile = values.text('service-account-signing-key-file');
    const issuers = values.list('service-account-issuer') ?? [];
    if (issuers.length === 0) throw new FlagError('--service-account-issuer is a required flag');
    if (signingKeyFile === undefined)
      throw new FlagError('--service-account-signing-key-file and --service-account-issuer are required flags');
    const apiAudiences = values.list('api-audiences');
    const jwksUri = values.text('service-account-jwks-uri');
    if (jwksUri !== undefined && !(URL.canParse(jwksUri) && new URL(jwksUri).protocol === 'https:'))
      throw new FlagError(`--service-account-jwks-uri requires an https URL, got ${JSON.stringify(jwksUri)}`);
    const maxExpirationSeconds = maxExpiration(values);
    return {
      issuers,
      keyFiles: values.list('service-account-key-file') ?? [],
      signingKeyFile,
      apiAudiences,
      jwksUri,
      maxExpirationSeconds,
      extendsExpiration: values.bool('service-account-extend-token-expiration') ?? true,
      lookup: values.bool('service-account-lookup') ?? true,
      bootstrapTokens: values.bool('enable-bootstrap-token-auth') ?? false,
      featureGates: Object.fromEntries((values.list('feature-gates') ?? []).map(gate)),
    };
  },
};

function maxExpiration(values: FlagValues): number | undefined {
  const text = values.text('service-account-max-token-expiration');
  if (text === undefined || parseDurationMs(text) === 0) return undefined;
  const seconds = (parseDurationMs(text) ?? 0) / 1000;
  if (seconds >= 3600 && seconds <= 2 ** 32) return seconds;
  throw new FlagError('--service-account-max-token-expiration must be between 1h0m0s and 2^32 seconds');
}

function gate(text: string): [string, boolean] {
  const [name = '', value] = text.split('=');
  if (value !== 'true' && value !== 'false')
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "--feature-gates" flag: invalid value of ${name}=${value ?? ''}, err: it is neither true nor false`,
    );
  return [name, value === 'true'];
}
