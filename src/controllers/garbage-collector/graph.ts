/**
 * The graph of owners and dependents, updated from the changes of all objects. Pure: it says which objects to
 * examine, and writes nothing. Upstream: controller/garbagecollector GraphBuilder.
 *
 * Invariants: an object that names an owner which was not observed is verified on the server; when an owner is
 * deleted all its dependents are examined. Kind and name of a reference may be wrong for its uid, so the references
 * of each object are verified for it alone. Differs: upstream keeps a virtual node for each owner that was named but
 * not observed; here it is an entry of the index, since users decide how many there are.
 */
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { DependentIndex } from './dependent-index.ts';
import { ownerOf } from './owner-of.ts';

export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

/** The object that a node stands for. */
export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects. For an owner that is looked up, the namespace of the dependent. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** An observed object. */
export interface GraphNode {
  identity: Identity;
  owners: readonly OwnerReference[];
  beingDeleted: boolean;
  /** It is in foreground deletion, which waits for its dependents to be deleted. */
  deletingDependents: boolean;
  /** It is in orphaning deletion, which waits until its dependents do not name it as an owner. */
  orphaningDependents: boolean;
}

/** Shared by all objects without owners, which are most. */
const noOwners: readonly OwnerReference[] = [];

/** Callbacks of the graph. */
export interface GraphListener {
  /** Enqueues the object, which may have to be deleted. */
  attemptToDelete(node: GraphNode): void;
  /** Enqueues the owner, whose references are removed from its dependents. */
  attemptToOrphan(node: GraphNode): void;
  /** Reports a reference to an owner in another namespace, which is ignored. */
  invalidReference(node: GraphNode, owner: OwnerReference): void;
}

export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #dependents = new DependentIndex<GraphNode>();
  readonly #listener: GraphListener;

  constructor(listener: GraphListener) {
    this.#listener = listener;
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Objects that name this uid as an owner. */
  dependentsOf(uid: string): Iterable<GraphNode> {
    return this.#dependents.of(uid);
  }

  /**
   * Whether an owner was not observed, is named wrongly, or is in foreground deletion. Otherwise the object needs no
   * check.
   */
  needsVerification(node: GraphNode): boolean {
    return node.owners.some((reference) => {
      const owner = this.#nodes.get(reference.uid);
      return (
        owner === undefined ||
        owner.deletingDependents ||
        isMisplaced(node.identity, owner.identity) ||
        !isNamedBy(reference, owner.identity)
      );
    });
  }

  /** An object was added or changed. Upstream: processGraphChanges. */
  observe(object: Stored<KubernetesObject>): void {
    const identity = identityOf(object);
    let node = this.#nodes.get(identity.uid);
    if (node === undefined) {
      node = {
        identity,
        owners: noOwners,
        beingDeleted: false,
        deletingDependents: false,
        orphaningDependents: false,
      };
      this.#nodes.set(identity.uid, node);
      this.#rejectMisplacedDependents(identity);
    }
    node.identity = identity;
    this.#updateOwners(node, object.metadata.ownerReferences ?? noOwners);
    this.#transition(node, object);
  }

  /** An object was deleted. */
  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    for (const reference of node.owners) {
      this.#dependents.remove(reference.uid, node);
      const owner = this.#nodes.get(reference.uid);
      if (owner?.deletingDependents === true) this.#listener.attemptToDelete(owner);
    }
    for (const dependent of this.#dependents.of(uid)) this.#listener.attemptToDelete(dependent);
  }

  #updateOwners(node: GraphNode, references: readonly OwnerReference[]): void {
    // A renewed lease shares the list with its earlier version.
    if (node.owners === references || (node.owners.length === 0 && references.length === 0)) return;
    const before = new Map(node.owners.map((reference) => [reference.uid, reference]));
    const after = new Map(references.map((reference) => [reference.uid, reference]));
    node.owners = references;
    for (const [uid, reference] of after) if (!before.has(uid)) this.#addDependent(node, reference);
    for (const [uid, reference] of before) {
      const owner = this.#nodes.get(uid);
      const now = after.get(uid);
      if (now === undefined) this.#dependents.remove(uid, node);
      const unblocked = reference.blockOwnerDeletion === true && now?.blockOwnerDeletion !== true;
      if (owner?.deletingDependents === true && (now === undefined || unblocked)) this.#listener.attemptToDelete(owner);
    }
  }

  #addDependent(node: GraphNode, reference: OwnerReference): void {
    this.#dependents.add(reference.uid, node);
    const owner = this.#nodes.get(reference.uid);
    const misplaced = owner !== undefined && isMisplaced(node.identity, owner.identity);
    if (misplaced) this.#listener.invalidReference(node, reference);
    if (owner === undefined || misplaced || !isNamedBy(reference, owner.identity)) this.#listener.attemptToDelete(node);
  }

  /** A newly observed owner: dependents in other namespaces, or with another name for it, refer to it wrongly. */
  #rejectMisplacedDependents(owner: Identity): void {
    for (const dependent of this.#dependents.of(owner.uid)) {
      const reference = ownerOf(dependent, owner.uid);
      const misplaced = isMisplaced(dependent.identity, owner);
      if (reference !== undefined && misplaced) this.#listener.invalidReference(dependent, reference);
      if (misplaced || (reference !== undefined && !isNamedBy(reference, owner)))
        this.#listener.attemptToDelete(dependent);
    }
  }

  #transition(node: GraphNode, object: KubernetesObject): void {
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp === undefined) return;
    node.beingDeleted = true;
    // An object that another finalizer keeps may be deleted again with these two finalizers.
    const { orphaningDependents, deletingDependents } = node;
    node.orphaningDependents = finalizers.includes(ORPHAN_FINALIZER);
    node.deletingDependents = !node.orphaningDependents && finalizers.includes(FOREGROUND_FINALIZER);
    if (node.orphaningDependents && !orphaningDependents) this.#listener.attemptToOrphan(node);
    if (!node.deletingDependents || deletingDependents) return;
    for (const dependent of this.#dependents.of(node.identity.uid)) this.#listener.attemptToDelete(dependent);
    this.#listener.attemptToDelete(node);
  }
}

/** Whether a reference has the owner's name and kind; the version does not matter. */
function isNamedBy(reference: Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>, owner: Identity): boolean {
  return (
    reference.name === owner.name &&
    reference.kind === owner.kind &&
    groupOf(reference.apiVersion) === groupOf(owner.apiVersion)
  );
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** Whether the owner is namespaced and not in the dependent's namespace. */
function isMisplaced(dependent: Identity, owner: Identity): boolean {
  return owner.namespace !== undefined && owner.namespace !== dependent.namespace;
}

function identityOf(object: Stored<KubernetesObject>): Identity {
  const { namespace, name, uid } = object.metadata;
  return {
    apiVersion: object.apiVersion ?? '',
    kind: object.kind ?? '',
    namespace: namespace === '' ? undefined : namespace,
    name,
    uid,
  };
}

/** Dependents that block the foreground deletion of the object. */
export function blockingDependents(graph: OwnerGraph, uid: string): GraphNode[] {
  return [...graph.dependentsOf(uid)].filter((dependent) => ownerOf(dependent, uid)?.blockOwnerDeletion === true);
}
