/** All controllers under upstream's names. To add one: a folder and a line. */
import type { Controller, ControllerDeps } from './controller.ts';
import { createDeploymentController } from './deployment/deployment-controller.ts';
import { replicaSetFlavour, replicationControllerFlavour } from './replicaset/flavours.ts';
import { createReplicaController } from './replicaset/replicaset-controller.ts';

/** Makes a controller; nothing runs before its `start`. */
export type ControllerFactory = (deps: ControllerDeps) => Controller;

/** Name in `--controllers` → factory, in the order they start. */
export const controllers: Readonly<Record<string, ControllerFactory>> = {
  'replicaset-controller': (deps) => createReplicaController(deps, replicaSetFlavour),
  'replicationcontroller-controller': (deps) => createReplicaController(deps, replicationControllerFlavour),
  'deployment-controller': createDeploymentController,
};

/**
 * Makes the named controllers (all by default), starts the informers and then the controllers. Resolves when all have
 * ended after the signal's abort.
 */
export async function runControllers(deps: ControllerDeps, signal: AbortSignal, names: readonly string[] = Object.keys(controllers)): Promise<void> {
  const made = names.map((name) => {
    const factory = controllers[name];
    if (factory === undefined) throw new Error(`"${name}" is not in the list of known controllers`);
    return factory(deps);
  });
  deps.informers.start(signal);
  await Promise.all(made.map((controller) => controller.start(signal)));
}
