package lockcluster_test

const workerEnv = "LOCKCLUSTER_TEST_WORKER"

func worker() int { return 0 }
