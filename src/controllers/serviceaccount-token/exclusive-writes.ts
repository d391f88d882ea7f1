import { Secrets } from '../../api/gen/resources.ts';
import { TOKEN_SECRET_TYPE } from './token-secrets.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** The contents of secrets that hold tokens. */
export const serviceAccountTokenWrites: ExclusiveWrites = {
  account: 'manager',
  writes: [
    {
      resource: Secrets,
      fields: [
        ['data', 'token'],
        ['data', 'ca.crt'],
        ['data', 'namespace'],
      ],
      where: (secret) => 'type' in secret && secret.type === TOKEN_SECRET_TYPE,
    },
  ],
};

/** Since when a token is no longer good. */
export const legacyTokenCleanerWrites: ExclusiveWrites = {
  account: 'legacy-service-account-token-cleaner',
  writes: [{ resource: Secrets, fields: [['metadata', 'labels', 'kubernetes.io/legacy-token-invalid-since']] }],
};
