// Functions of the module that the server calls; see ../README.md.

export { judge, writeColumns } from "./columns";
export { writeIdentity } from "./identity_columns";
export { writePropertyColumns } from "./property_columns";
export { repeats } from "./repeats";
export { scan } from "./scan";
export { ends, open } from "./single";
