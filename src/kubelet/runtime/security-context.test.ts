/** Every row of the security table on the simulated runtime. A real containerd runs it in test/integration. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { image, type SimImageSpec } from '../../cri/sim/sim-image.ts';
import { createRuntimeFixture, podOf } from './runtime-fixture.ts';
import { imageUsers, securityRows, type SecurityRow } from './security-rows-fixture.ts';

/** The user as containerd reports it: the part before the colon, as a number or a name. */
function reportedUser(user: string | undefined): SimImageSpec {
  const [first = ''] = (user ?? '').split(':');
  if (first === '') return {};
  return /^\d+$/.test(first) ? { uid: Number(first) } : { username: first };
}

async function outcome(row: SecurityRow) {
  const fixture = createRuntimeFixture({ images: [image('app:1', reportedUser(imageUsers[row.image]))] });
  const container = { name: 'main', image: 'app:1', ...(row.container && { securityContext: row.container }) };
  const result = await fixture.sync(podOf({ containers: [container], ...(row.pod && { securityContext: row.pod }) }));
  return { result, made: [...fixture.cri.containers.values()][0]?.init.config.linux?.securityContext };
}

describe('a security context beside the user of an image', () => {
  for (const row of securityRows) {
    const { about, refused, sandboxRefused, request = {} } = row;
    const refusal = refused ?? sandboxRefused;
    it(`${about}: the container ${refusal === undefined ? 'is created as requested' : 'is refused'}`, async () => {
      const { result, made } = await outcome(row);
      const last = result.steps.at(-1);
      if (refusal !== undefined) {
        assert.equal(last?.reason, refused === undefined ? 'CreatePodSandboxError' : 'CreateContainerConfigError');
        assert.match(last?.message ?? '', refusal);
        assert.equal(made, undefined);
        return;
      }
      assert.equal(result.error, undefined, last?.message);
      const actual = Object.fromEntries(Object.keys(request).map((key) => [key, made?.[key as keyof typeof made]]));
      assert.deepEqual(actual, request);
    });
  }
});
