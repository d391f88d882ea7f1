/** The type of a view: a folder whose code is loaded when the view is first shown, and a line in `list.ts`. */
import type { ComponentType } from 'preact';
import type { Route } from '../app/router.ts';
import type { Kind, ObjectRef } from '../api/kinds.ts';

export interface ViewProps {
  readonly route: Route;
}

export interface ViewModule {
  readonly View: ComponentType<ViewProps>;
}

/** A right that the user must have. */
export interface Need {
  readonly verb: string;
  readonly subresource?: string;
  /** Absent for the object's own resource. */
  readonly resource?: string;
  /** The group of that resource; absent for the core group. */
  readonly group?: string;
}

/** An action of a view on an object of a list, bound to a key. */
export interface ObjectAction {
  /** The value of `KeyboardEvent.key`. */
  readonly key: string;
  readonly label: string;
  /** The action changes the object, so it is unavailable for the past. */
  readonly changes?: boolean;
  /** The user must have all of these rights. */
  readonly needs: readonly Need[];
  applies(kind: Kind): boolean;
  /** The address to which the action navigates. */
  href(ref: ObjectRef): string;
}

/** An entry of the list of views. */
export interface ViewEntry {
  /** The first segment of its addresses; '' for the start page. */
  readonly name: string;
  readonly title: string;
  /** Its entry in the menu; absent when only other pages link to it. */
  readonly menu?: {
    readonly icon: string;
    /** Only users who may list this kind see the view. */
    readonly kind?: string;
  };
  /** Whether the view can show a past moment. */
  readonly hasPast?: boolean;
  readonly actions?: readonly ObjectAction[];
  load(): Promise<ViewModule>;
}
