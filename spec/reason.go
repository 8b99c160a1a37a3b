package spec

// Reasons of the manifest side.
const (
	ReasonValid          Reason = "Valid"
	ReasonInvalid        Reason = "InvalidManifest"
	ReasonUnreadable     Reason = "Unreadable"
	ReasonUntrusted      Reason = "Untrusted"
	ReasonBusyFile       Reason = "FileBusy" // somebody still writes it
	ReasonDuplicate      Reason = "DuplicateKey"
	ReasonPortConflict   Reason = "PortConflict" // two workloads with one fixed port
	ReasonEnvFileMissing Reason = "EnvFileMissing"
	ReasonSkipped        Reason = "Skipped"      // an entry that is no manifest
	ReasonOtherGroup     Reason = "OtherGroup"   // an object of another API group
	ReasonPolling        Reason = "PollingOnly"  // no file events: changes are seen every 10 s
	ReasonDirMissing     Reason = "DirMissing"   // the manifest directory is not there
	ReasonDirReplaced    Reason = "DirReplaced"  // another file system in its place
	ReasonDeletionHeld   Reason = "DeletionHeld" // gone, but not believed yet
)

// Reasons of what the host lacks.
const (
	ReasonNotRecorded Reason = "NotRecorded" // ledger and events cannot be written
	ReasonNoLinger    Reason = "NoLinger"    // the user manager ends with the session
)

// Reasons of decisions, events and conditions.
const (
	ReasonNotObserved     Reason = "NotObserved"     // first scan or read not done, or scan failed
	ReasonNotManaged      Reason = "NotManaged"      // nothing leads to this controller
	ReasonOtherOwner      Reason = "OtherOwner"      // another controller's
	ReasonAbsenceUnproven Reason = "AbsenceUnproven" // a file might still hold the key
	ReasonShutdown        Reason = "ControllerExits"
	ReasonKept            Reason = "Kept"   // left running at exit
	ReasonReaped          Reason = "Reaped" // its controller is dead, and somebody cleared up
	ReasonGraceOver       Reason = "GracePeriodOver"
	ReasonStopping        Reason = "Stopping"
	ReasonNotWanted       Reason = "NotWanted"
	ReasonSuspended       Reason = "Suspended"
	ReasonSuspendedNow    Reason = "SuspendedAtRuntime" // somebody asked for it, beside the manifest
	ReasonScaledDown      Reason = "ScaledDown"
	ReasonTwin            Reason = "TwinProcess" // more mains than wanted
	ReasonMainGone        Reason = "MainGone"    // members left without their main
	ReasonSpecChanged     Reason = "SpecChanged"
	ReasonRestartAsked    Reason = "RestartAsked" // what was started before is replaced
	ReasonRunning         Reason = "Running"
	ReasonAdopted         Reason = "Adopted"
	ReasonCannotTell      Reason = "CannotTell"
	ReasonUnattributed    Reason = "Unattributed" // left to us, by nobody knows which workload
	ReasonPortHeld        Reason = "PortHeld"
	ReasonPortStray       Reason = "PortHeldByStray"
	ReasonChecking        Reason = "Checking" // an observation is under way
	ReasonCompleted       Reason = "Completed"
	ReasonFailed          Reason = "Failed"
	ReasonBackOff         Reason = "BackOff"
	ReasonStarting        Reason = "Starting"
	ReasonWanted          Reason = "Wanted"  // wanted and not running: start
	ReasonRestart         Reason = "Restart" // it ended by itself, and is started again
	ReasonNotListening    Reason = "NotListening"
	ReasonListening       Reason = "Listening"
)

// Reasons of health, order and replacement.
const (
	ReasonProbing           Reason = "Probing"         // not known yet
	ReasonProbeFailed       Reason = "ProbeFailed"     // readiness
	ReasonReady             Reason = "Ready"           // the readiness probe succeeds
	ReasonStartupFailed     Reason = "StartupFailed"   // the startup probe did not succeed in time
	ReasonLivenessFailed    Reason = "LivenessFailed"  // stopped because it does not answer
	ReasonVerified          Reason = "Verified"        // spoke its protocol
	ReasonUnauthorized      Reason = "Unauthorized"    // reachable, and wants credentials
	ReasonForeignListener   Reason = "ForeignListener" // its port is held by another process
	ReasonBeyondLoopback    Reason = "ListensBeyondLoopback"
	ReasonPreStop           Reason = "PreStop"           // a hook was done before a stop
	ReasonPreStopFailed     Reason = "PreStopFailed"     // which goes on all the same
	ReasonLooksLikeStdio    Reason = "LooksLikeStdio"    // exits at end-of-file, at once
	ReasonServerFinding     Reason = "ServerFinding"     // a stdio server does what its protocol forbids
	ReasonDependencyMissing Reason = "DependencyMissing" // no manifest names it
	ReasonDependencyCycle   Reason = "DependencyCycle"
	ReasonDependencyEndless Reason = "DependencyNeverCompletes" // condition Completed of what is always restarted
	ReasonDependencyWait    Reason = "WaitingForDependency"
	ReasonDependencyRenewed Reason = "DependencyRestarted"  // onRestart: Restart
	ReasonDependentsFirst   Reason = "WaitingForDependents" // a stop in reverse order
	ReasonDeadlineExceeded  Reason = "ProgressDeadlineExceeded"
	ReasonDraining          Reason = "Draining" // the new one is ready; clients move to it
)

// Reasons of failed starts.
const (
	ReasonProgramNotFound  Reason = "ProgramNotFound"
	ReasonNotExecutable    Reason = "NotExecutable"
	ReasonWorkingDir       Reason = "WorkingDirMissing"
	ReasonEnvironment      Reason = "EnvironmentInvalid"
	ReasonNoFreePort       Reason = "NoFreePort"
	ReasonSpawnFailed      Reason = "SpawnFailed"
	ReasonScopeFailed      Reason = "ScopeFailed"
	ReasonWrapperFailed    Reason = "WrapperFailed" // in a scope; the program may have run
	ReasonLimitsNotApplied Reason = "LimitsNotApplied"
	ReasonLogFile          Reason = "LogFileFailed"
	ReasonMCPConfig        Reason = "MCPConfigFailed"  // the file with the endpoints of its servers cannot be written
	ReasonTokenFile        Reason = "TokenFileRefused" // of a stdio server
	ReasonUserUnknown      Reason = "UserUnknown"
	ReasonUserRefused      Reason = "UserRefused" // only root can start as another user
)

// Reasons of a Termination.
const (
	ReasonError     Reason = "Error"
	ReasonOOMKilled Reason = "OOMKilled"
	ReasonStopped   Reason = "Stopped"
	ReasonUnknown   Reason = "Unknown"
)
