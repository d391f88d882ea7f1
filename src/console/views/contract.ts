/** What a view is: a folder whose code loads when it is first shown, and a line in `list.ts`. */
import type { ComponentType } from 'preact';
import type { Route } from '../app/router.ts';
import type { Kind, ObjectRef } from '../api/kinds.ts';

export interface ViewProps {
  readonly route: Route;
}

export interface ViewModule {
  readonly View: ComponentType<ViewProps>;
}

/** What the user must be allowed to do. */
export interface Need {
  readonly verb: string;
  readonly subresource?: string;
  /** Absent: the object's own. */
  readonly resource?: string;
  /** The group of that resource; absent: the core group. */
  readonly group?: string;
}

/** What a view offers on an object of a list, by a key. */
export interface ObjectAction {
  /** As in `KeyboardEvent.key`. */
  readonly key: string;
  readonly label: string;
  /** It changes the object, which cannot be done in the past. */
  readonly changes?: boolean;
  /** All of them are needed. */
  readonly needs: readonly Need[];
  applies(kind: Kind): boolean;
  /** The address of the place it leads to. */
  href(ref: ObjectRef): string;
}

/** A line of the list of views. */
export interface ViewEntry {
  /** The first segment of its addresses; '' for the place where one begins. */
  readonly name: string;
  readonly title: string;
  /** Its key in the menu of views; absent: it is reached from elsewhere alone. */
  readonly menu?: {
    readonly icon: string;
    /** Offered to those alone who may list this kind. */
    readonly kind?: string;
  };
  /** It can show what was so at another moment. */
  readonly hasPast?: boolean;
  readonly actions?: readonly ObjectAction[];
  load(): Promise<ViewModule>;
}
