// Lets Go functions without a body stand in this package: see cluster.go.
