/**
 * The graph of owners and dependents, kept from the changes of all objects. Pure: it says what must be looked at, and
 * writes nothing. Upstream: controller/garbagecollector GraphBuilder.
 *
 * Invariants: an owner that was named but not seen is a virtual node, to be verified on the server; an owner that is gone
 * makes all its dependents be looked at. A reference is what its writer claims: kind and name may be wrong for the uid, so
 * the absence of one claimed owner says nothing about other claims of the same uid.
 */
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';

export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

/** Which object a node stands for. */
export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects; of a virtual node it is the namespace of the dependent that named it. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** An object in the graph. */
export interface GraphNode {
  identity: Identity;
  owners: readonly OwnerReference[];
  dependents: ReadonlySet<GraphNode>;
  /** Named by a dependent, not seen itself. */
  virtual: boolean;
  beingDeleted: boolean;
  /** It waits, in the foreground, for its dependents to go. */
  deletingDependents: boolean;
  /** It waits for its dependents to forget it. */
  orphaningDependents: boolean;
}

/** Most objects own nothing and are nobody's: a hundred thousand of them share these. */
const noOwners: readonly OwnerReference[] = [];
const noDependents: ReadonlySet<GraphNode> = new Set();

function giveDependent(owner: GraphNode, node: GraphNode): void {
  if (owner.dependents === noDependents) owner.dependents = new Set();
  (owner.dependents as Set<GraphNode>).add(node);
}

function takeDependent(owner: GraphNode | undefined, node: GraphNode): void {
  if (owner === undefined || owner.dependents === noDependents) return;
  (owner.dependents as Set<GraphNode>).delete(node);
}

/** What the graph asks for. */
export interface GraphListener {
  /** Queues the object: it may have to be deleted. */
  attemptToDelete(node: GraphNode): void;
  /** Queues the owner: its reference is removed from its dependents. */
  attemptToOrphan(node: GraphNode): void;
  /** Reports a reference to an owner in another namespace, which is ignored. */
  invalidReference(node: GraphNode, owner: OwnerReference): void;
}

export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();
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

  /** An object was added or changed. Upstream: processGraphChanges. */
  observe(object: Stored<KubernetesObject>): void {
    const identity = identityOf(object);
    let node = this.#nodes.get(identity.uid);
    if (node === undefined) {
      node = {
        identity,
        owners: noOwners,
        dependents: noDependents,
        virtual: false,
        beingDeleted: false,
        deletingDependents: false,
        orphaningDependents: false,
      };
      this.#nodes.set(identity.uid, node);
    } else if (node.virtual) {
      node.virtual = false;
      this.#rejectMisplacedDependents(node, identity);
    }
    node.identity = identity;
    this.#updateOwners(node, object.metadata.ownerReferences ?? noOwners);
    this.#transition(node, object);
  }

  /**
   * The server does not know a virtual node under its identity. Returns whether other dependents name the same uid
   * otherwise: it then has their identity, and is to be verified again. Upstream: replaceVirtualDeletedOwner.
   */
  removeVirtual(node: GraphNode): boolean {
    const { identity } = node;
    const claims = [...node.dependents].map((dependent) => ({ dependent, claimed: claimOf(dependent, identity.uid) }));
    const other = claims.find(({ claimed }) => claimed !== undefined && !isSame(claimed, identity))?.claimed;
    if (other === undefined) {
      this.remove(identity.uid);
      return false;
    }
    node.identity = other;
    for (const { dependent, claimed } of claims)
      if (claimed !== undefined && isSame(claimed, identity)) this.#listener.attemptToDelete(dependent);
    return true;
  }

  /** An object is gone (or a virtual node turned out not to exist). */
  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    for (const reference of node.owners) {
      const owner = this.#nodes.get(reference.uid);
      takeDependent(owner, node);
      if (owner?.deletingDependents === true) this.#listener.attemptToDelete(owner);
      this.#forgetUnusedVirtual(owner);
    }
    for (const dependent of node.dependents) this.#listener.attemptToDelete(dependent);
  }

  #updateOwners(node: GraphNode, references: readonly OwnerReference[]): void {
    if (node.owners.length === 0 && references.length === 0) return;
    const before = new Map(node.owners.map((reference) => [reference.uid, reference]));
    const after = new Map(references.map((reference) => [reference.uid, reference]));
    node.owners = references;
    for (const [uid, reference] of after) if (!before.has(uid)) this.#addDependent(node, reference);
    for (const [uid, reference] of before) {
      const owner = this.#nodes.get(uid);
      const now = after.get(uid);
      if (now === undefined) takeDependent(owner, node);
      const unblocked = reference.blockOwnerDeletion === true && now?.blockOwnerDeletion !== true;
      if (owner?.deletingDependents === true && (now === undefined || unblocked)) this.#listener.attemptToDelete(owner);
      if (now === undefined) this.#forgetUnusedVirtual(owner);
    }
  }

  #addDependent(node: GraphNode, reference: OwnerReference): void {
    let owner = this.#nodes.get(reference.uid);
    if (owner === undefined) {
      owner = {
        identity: claimedIdentity(node, reference),
        owners: noOwners,
        dependents: noDependents,
        virtual: true,
        beingDeleted: false,
        deletingDependents: false,
        orphaningDependents: false,
      };
      this.#nodes.set(reference.uid, owner);
      this.#listener.attemptToDelete(owner);
    } else if (!owner.virtual && isMisplaced(node.identity, owner.identity)) {
      this.#listener.invalidReference(node, reference);
      this.#listener.attemptToDelete(node);
    } else if (!isNamedBy(reference, owner.identity)) {
      this.#listener.attemptToDelete(node);
    }
    giveDependent(owner, node);
  }

  /** A virtual owner became real: dependents elsewhere, or with another name for it, named it wrongly. */
  #rejectMisplacedDependents(owner: GraphNode, identity: Identity): void {
    for (const dependent of owner.dependents) {
      const reference = dependent.owners.find((r) => r.uid === identity.uid);
      const misplaced = isMisplaced(dependent.identity, identity);
      if (reference !== undefined && misplaced) this.#listener.invalidReference(dependent, reference);
      if (misplaced || (reference !== undefined && !isNamedBy(reference, identity)))
        this.#listener.attemptToDelete(dependent);
    }
  }

  #forgetUnusedVirtual(owner: GraphNode | undefined): void {
    if (owner?.virtual === true && owner.dependents.size === 0) this.#nodes.delete(owner.identity.uid);
  }

  #transition(node: GraphNode, object: KubernetesObject): void {
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp === undefined) return;
    node.beingDeleted = true;
    // What others' finalizers keep may be deleted again, and bear these two again.
    const { orphaningDependents, deletingDependents } = node;
    node.orphaningDependents = finalizers.includes(ORPHAN_FINALIZER);
    node.deletingDependents = !node.orphaningDependents && finalizers.includes(FOREGROUND_FINALIZER);
    if (node.orphaningDependents && !orphaningDependents) this.#listener.attemptToOrphan(node);
    if (!node.deletingDependents || deletingDependents) return;
    for (const dependent of node.dependents) this.#listener.attemptToDelete(dependent);
    this.#listener.attemptToDelete(node);
  }
}

/** The owner as the reference of a dependent claims it. */
function claimedIdentity(dependent: GraphNode, { apiVersion, kind, name, uid }: OwnerReference): Identity {
  return { apiVersion, kind, name, uid, namespace: dependent.identity.namespace };
}

function claimOf(dependent: GraphNode, uid: string): Identity | undefined {
  const reference = dependent.owners.find((one) => one.uid === uid);
  return reference === undefined ? undefined : claimedIdentity(dependent, reference);
}

/** Whether a reference has the owner's name and kind; the version does not matter. */
function isNamedBy(reference: Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>, owner: Identity): boolean {
  return (
    reference.name === owner.name &&
    reference.kind === owner.kind &&
    groupOf(reference.apiVersion) === groupOf(owner.apiVersion)
  );
}

function isSame(a: Identity, b: Identity): boolean {
  return isNamedBy(a, b) && a.namespace === b.namespace;
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

/** Dependents that hold up the foreground deletion of `node`. */
export function blockingDependents(node: GraphNode): GraphNode[] {
  return [...node.dependents].filter((dependent) =>
    dependent.owners.some((r) => r.uid === node.identity.uid && r.blockOwnerDeletion === true),
  );
}
