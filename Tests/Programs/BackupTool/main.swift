import Errand
import Foundation

// Usage: `BackupTool send|fetch <folder>`, with the server in BACKUP_SERVER and the key in BACKUP_KEY.

func printError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

func perform(_ arguments: [String]) async -> Int32 {
    let environment = ProcessInfo.processInfo.environment
    guard arguments.count == 2, ["send", "fetch"].contains(arguments[0]), let server = environment["BACKUP_SERVER"]
    else {
        printError("usage: BACKUP_SERVER=<url> BACKUP_KEY=<key> BackupTool send|fetch <folder>\n")
        return 64
    }
    let client = APIClient(server) {
        $0.credentials = .bearer(environment["BACKUP_KEY"] ?? "")
        $0.rateLimit = .unlimited
    }
    let backup = Backup(client: client, folder: arguments[1])
    let report: @Sendable (TransferProgress) -> Void = { printError("\r\(Int(($0.fraction ?? 0) * 100)) %") }
    let code: Int32
    do {
        let summary = try await arguments[0] == "send" ? backup.send(report) : backup.fetch(report)
        print("\(summary.copied) files, \(summary.bytes) bytes")
        for (path, error) in summary.failures { printError("\(path): \(error.localizedDescription)\n") }
        code = summary.failures.isEmpty ? 0 : 1
    } catch {
        printError("\(error.localizedDescription)\n")
        code = error.isTransient ? 75 : 1
    }
    await client.shutdown()
    return code
}

exit(await perform(Array(CommandLine.arguments.dropFirst())))
