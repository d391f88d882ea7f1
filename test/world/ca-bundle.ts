/** The authority that webhooks of the world name. It is made for each run. */
import { createTestAuthority } from '../../src/platform/node/certificates-fixture.ts';

/** Signs for those webhooks that listen; nobody listens behind most. */
export const authority = await createTestAuthority('world');

/** base64 of its PEM, as configurations have it. */
export const CA_BUNDLE = Buffer.from(authority.caPem).toString('base64');
