// Limits of projects.

export const projectLimits = {
  /** Projects of one organization: every reply about it lists them all. */
  projectsPerOrganizationMax: 1000,
};
