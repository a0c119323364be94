// What the server calls of the module; see ../README.md.

export { judge, writeColumns } from "./columns";
export { writeIdentity } from "./identity_columns";
export { repeats } from "./repeats";
export { scan } from "./scan";
export { ends, open } from "./single";
