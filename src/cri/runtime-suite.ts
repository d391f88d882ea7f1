/**
 * The requirements of the kubelet for a CRI runtime, run on the simulated one in unit tests and on a real containerd in
 * test/integration. It uses only two images: one that runs until it is stopped and one that ends with code 3.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isCriCode } from './cri-error.ts';
import type { ContainerConfig, PodSandboxConfig } from './gen/cri-types.ts';
import type { Init } from './call-options.ts';
import type { CriEvent, CriRuntime } from './runtime-service.ts';

export interface RuntimeUnderTest {
  readonly cri: CriRuntime;
  /** Where sandboxes may log. */
  readonly logDirectory: string;
  /** Image and command of a container that prints `up` and runs until its stop signal, which ends it with 0. */
  readonly running: Pick<Init<ContainerConfig>, 'image' | 'command'>;
  /** The same, deaf to its stop signal. */
  readonly stubborn: Pick<Init<ContainerConfig>, 'image' | 'command'>;
  /** Prints `hello` and ends with 3. */
  readonly failing: Pick<Init<ContainerConfig>, 'image' | 'command'>;
  /** Parent of the sandboxes' cgroups. */
  readonly cgroupParent: string;
  readText(path: string): Promise<string>;
  /** Lets time pass until the work is done: nothing on a real runtime, virtual time on a simulated one. */
  drive<T>(work: Promise<T>): Promise<T>;
  /** Lets a moment pass. */
  pause(): Promise<void>;
  close(): Promise<void>;
}

/** Registers the suite. `open` is called once. */
export function describeRuntime(name: string, open: () => Promise<RuntimeUnderTest>): void {
  describe(name, () => {
    let under: RuntimeUnderTest;
    let counter = 0;
    before(async () => void (under = await open()));
    after(() => under.close());

    const sandboxConfig = (overrides: Init<PodSandboxConfig> = {}): Init<PodSandboxConfig> => {
      const uid = `suite-${++counter}`;
      return {
        metadata: { name: uid, uid, namespace: 'default', attempt: 0 },
        labels: { suite: uid },
        annotations: { note: 'kept' },
        logDirectory: `${under.logDirectory}/${uid}`,
        linux: { cgroupParent: under.cgroupParent, securityContext: { namespaceOptions: { network: 'NODE' } } },
        ...overrides,
      };
    };
    const call = <T>(work: Promise<T>): Promise<T> => under.drive(work);
    const runSandbox = async (config: Init<PodSandboxConfig>): Promise<string> =>
      (await call(under.cri.runtime.runPodSandbox({ config }))).podSandboxId;
    const create = async (
      podSandboxId: string,
      config: Init<PodSandboxConfig>,
      what: Pick<Init<ContainerConfig>, 'image' | 'command'>,
    ): Promise<string> => {
      const container = {
        ...what,
        metadata: { name: 'main', attempt: 0 },
        labels: { part: 'main' },
        logPath: 'main/0.log',
        linux: {},
      };
      return (await call(under.cri.runtime.createContainer({ podSandboxId, config: container, sandboxConfig: config })))
        .containerId;
    };
    const removeSandbox = async (podSandboxId: string): Promise<void> => {
      await call(under.cri.runtime.stopPodSandbox({ podSandboxId }));
      await call(under.cri.runtime.removePodSandbox({ podSandboxId }));
    };
    const state = async (containerId: string) =>
      (await call(under.cri.runtime.containerStatus({ containerId }))).status!;
    /** Its program has installed its signal handlers; a container is Running before that. */
    const isUp = async (containerId: string): Promise<void> => {
      const { logPath } = await state(containerId);
      for (let left = 1200; !(await under.readText(logPath)).includes(' up\n'); await under.pause())
        assert.notEqual(left--, 0, 'the container never said that it is up');
    };

    it('reports version and readiness', async () => {
      const version = await call(under.cri.runtime.version({}));
      assert.equal(version.runtimeApiVersion, 'v1');
      const { status } = await call(under.cri.runtime.status({}));
      assert.equal(status!.conditions.find((condition) => condition.type === 'RuntimeReady')!.status, true);
    });

    it('runs a sandbox through its lifecycle', async () => {
      const config = sandboxConfig();
      const podSandboxId = await runSandbox(config);
      const { status } = await call(under.cri.runtime.podSandboxStatus({ podSandboxId }));
      assert.equal(status!.state, 'SANDBOX_READY');
      assert.deepEqual(status!.metadata, config.metadata);
      assert.equal(status!.annotations['note'], 'kept');
      assert.equal(status!.linux!.namespaces!.options!.network, 'NODE');
      assert.ok(status!.createdAtMs > 1e12 && status!.createdAtMs < 1e14);
      const listed = async (filter: object) =>
        (await call(under.cri.runtime.listPodSandbox({ filter }))).items.map((item) => item.id);
      assert.deepEqual(await listed({ labelSelector: config.labels }), [podSandboxId]);
      assert.deepEqual(await listed({ labelSelector: { suite: 'other' } }), []);
      await call(under.cri.runtime.stopPodSandbox({ podSandboxId }));
      assert.deepEqual(await listed({ labelSelector: config.labels, state: { state: 'SANDBOX_READY' } }), []);
      assert.deepEqual(await listed({ labelSelector: config.labels, state: { state: 'SANDBOX_NOTREADY' } }), [
        podSandboxId,
      ]);
      await call(under.cri.runtime.stopPodSandbox({ podSandboxId }));
      await call(under.cri.runtime.removePodSandbox({ podSandboxId }));
      await call(under.cri.runtime.removePodSandbox({ podSandboxId }));
      await assert.rejects(call(under.cri.runtime.podSandboxStatus({ podSandboxId })), (error) =>
        isCriCode(error, 'NotFound'),
      );
    });

    it('runs a container through its lifecycle', async () => {
      const config = sandboxConfig();
      const podSandboxId = await runSandbox(config);
      const containerId = await create(podSandboxId, config, under.running);
      assert.equal((await state(containerId)).state, 'CONTAINER_CREATED');
      await call(under.cri.runtime.startContainer({ containerId }));
      const running = await state(containerId);
      assert.equal(running.state, 'CONTAINER_RUNNING');
      assert.ok(running.startedAtMs >= running.createdAtMs);
      assert.equal(running.labels['part'], 'main');
      await isUp(containerId);
      const { containers } = await call(
        under.cri.runtime.listContainers({ filter: { podSandboxId, state: { state: 'CONTAINER_RUNNING' } } }),
      );
      assert.deepEqual(
        containers.map((container) => container.id),
        [containerId],
      );
      await call(under.cri.runtime.stopContainer({ containerId, timeoutSeconds: 20 }));
      const stopped = await state(containerId);
      assert.deepEqual([stopped.state, stopped.exitCode, stopped.reason], ['CONTAINER_EXITED', 0, 'Completed']);
      await call(under.cri.runtime.removeContainer({ containerId }));
      await assert.rejects(call(under.cri.runtime.containerStatus({ containerId })), (error) =>
        isCriCode(error, 'NotFound'),
      );
      await removeSandbox(podSandboxId);
    });

    it('kills a container that does not stop in time', async () => {
      const config = sandboxConfig();
      const podSandboxId = await runSandbox(config);
      const containerId = await create(podSandboxId, config, under.stubborn);
      await call(under.cri.runtime.startContainer({ containerId }));
      await isUp(containerId);
      await call(under.cri.runtime.stopContainer({ containerId, timeoutSeconds: 1 }));
      assert.equal((await state(containerId)).exitCode, 137);
      await removeSandbox(podSandboxId);
    });

    it('reports an exit by event, after which the status agrees, and keeps the log', async () => {
      const config = sandboxConfig();
      const podSandboxId = await runSandbox(config);
      const containerId = await create(podSandboxId, config, under.failing);
      const controller = new AbortController();
      const seen: CriEvent[] = [];
      const stopped = (async () => {
        for await (const event of under.cri.events(controller.signal)) {
          if (event.containerId !== containerId) continue;
          seen.push(event);
          if (event.type === 'stopped') return (await under.cri.runtime.containerStatus({ containerId })).status!;
        }
        throw new Error('events ended');
      })();
      // A subscription sends nothing until its first event, so this makes one.
      const other = sandboxConfig();
      await removeSandbox(await runSandbox(other));
      await call(under.cri.runtime.startContainer({ containerId }));
      const status = await call(stopped);
      controller.abort();
      assert.deepEqual([status.state, status.exitCode, status.reason], ['CONTAINER_EXITED', 3, 'Error']);
      assert.equal(seen.at(-1)!.type, 'stopped');
      assert.match(await under.readText(status.logPath), /^\S+Z stdout F hello\n$/);
      await removeSandbox(podSandboxId);
    });

    it('refuses invalid requests', async () => {
      const config = sandboxConfig();
      const podSandboxId = await runSandbox(config);
      const unknown = { image: { image: 'keelson.test/none:1' } };
      await assert.rejects(create(podSandboxId, config, unknown), (error) => isCriCode(error, 'NotFound', 'Unknown'));
      await assert.rejects(create('nonesuch', config, under.running), (error) =>
        isCriCode(error, 'NotFound', 'Unknown'),
      );
      await assert.rejects(call(under.cri.runtime.startContainer({ containerId: 'nonesuch' })), (error) =>
        isCriCode(error, 'NotFound'),
      );
      await removeSandbox(podSandboxId);
    });

    it('lists images and their users', async () => {
      const { images } = await call(under.cri.images.listImages({}));
      const imageName = under.running.image!.image!;
      const found = images.find((image) => image.repoTags.includes(imageName));
      assert.ok(found !== undefined && found.size > 0);
      const { image } = await call(under.cri.images.imageStatus({ image: { image: found.id } }));
      assert.equal(image!.id, found.id);
      assert.equal(
        (await call(under.cri.images.imageStatus({ image: { image: 'keelson.test/none:1' } }))).image,
        undefined,
      );
      assert.ok((await call(under.cri.images.imageFsInfo({}))).imageFilesystems.length > 0);
    });

    it("ends with the caller's reason when aborted", async () => {
      const reason = new Error('enough');
      await assert.rejects(
        call(
          (async () => {
            for await (const event of under.cri.events(AbortSignal.abort(reason))) void event;
          })(),
        ),
        reason,
      );
    });
  });
}
