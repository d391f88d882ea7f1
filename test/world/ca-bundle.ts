/** The certificate authority of the world's webhooks, created for each run. */
import { createTestAuthority } from '../../src/platform/node/certificates-fixture.ts';

/** Signs for the webhooks that have a server; most have none. */
export const authority = await createTestAuthority('world');

/** base64 of its PEM, as in configurations. */
export const CA_BUNDLE = Buffer.from(authority.caPem).toString('base64');
