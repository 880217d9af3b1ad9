/// The files of a body, as they were when the call began.
struct BodyFiles: Sendable {
    private var files: [FilePlace: Result<BodyFile, ServiceError>] = [:]

    /// Those of a body without files.
    init() {}

    /// Looks at the files, which blocks.
    init(lookingAt places: [FilePlace]) {
        for place in places { files[place] = Self.look(at: place) }
    }

    /// Looks at the files on a thread for the disk.
    static func looking(
        at places: [FilePlace], by time: any TimeSource, in scope: StopScope<ServiceError>
    ) async throws(ServiceError) -> BodyFiles {
        var files = BodyFiles()
        for place in places {
            files.files[place] = try await DiskThreads.run(by: time, at: place.description, in: scope) {
                () throws(ServiceError) in look(at: place)
            }
        }
        return files
    }

    /// Returns the file at that place. Throws what was wrong with it.
    subscript(place: FilePlace) -> Result<BodyFile, ServiceError> {
        files[place] ?? .failure(.badFile("\(place) is not part of the body"))
    }

    private static func look(at place: FilePlace) -> Result<BodyFile, ServiceError> {
        Result { () throws(ServiceError) in try BodyFile(place) }
    }
}
